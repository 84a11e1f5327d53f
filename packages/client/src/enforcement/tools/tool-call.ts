/** The life of a tool call, the same in every framework: ask, pause, begin, run, settle. */
import { DeniedError } from '../../errors/denied-error.js'
import type { DeniedReason } from '../../errors/refusal-reason.js'
import { errorWithWords, reviewerWords } from '../../errors/reviewer-words.js'
import { warnOperator } from '../../operator-warning.js'
import type { CallSignal } from '../../options.js'
import { hashOfText } from '../../sha256.js'
import { textOfData } from '../arguments/data-text.js'
import type { Asked } from '../asking/asked.js'
import type { Admission, AdmitOptions, PausedAdmission } from '../running/admission.js'
import type { GuardRun, RunOptions } from '../running/guard-run.js'
import { runContextOf } from '../running/run-context.js'
import { CallInStep, type CallStep } from './call-in-step.js'
import type { ToolGuard } from './tool-guard.js'
import { type CalledTool, type PreparedCall, prepareToolCall } from './tool-question.js'

/** The event for a stream of the framework as soon as it is known whether a call runs. */
export interface DecisionEvent {
  readonly type: 'countersign.decision'
  readonly tool: string
  readonly tool_call_id: string | null
  /** `observed`: the mode is `observe`, and the call runs in any case. */
  readonly outcome: 'permitted' | 'observed' | 'denied'
  /** Null unless the call is denied. */
  readonly reason: DeniedReason | null
  /** Null when there was no answer. */
  readonly decision_id: string | null
}

/** What an app gets in place of a result while a person must answer at the decision point before the call continues. */
export interface ReviewRequest extends Asked {
  readonly type: 'countersign.review'
  readonly decision_id: string
  /** One sentence: which agent wants to do which action on which resource. */
  readonly question: string
  readonly tool: string
  readonly tool_call_id: string | null
  /** When the review ends, in RFC 3339. */
  readonly expires_at: string
}

/** A call that runs if it may, and what its framework adds to its life. The id of the call, else the name of its tool, names it in events. */
export interface CallToRun<Call extends CalledTool, Result> extends RunOptions<Result> {
  readonly call: Call
  readonly args: unknown
  /** Gives the mapping the arguments as the tool will have them, if they have not passed its schema yet. */
  readonly parse?: ((args: unknown) => unknown) | undefined
  readonly signal?: CallSignal | undefined
  /** Within a guard that asked the same question: `share` its decision (default), or `ask` for another one. */
  readonly nested?: AdmitOptions['nested']
  /** For a framework that makes the call again when it resumes. */
  readonly step?: CallStep | undefined
  /**
   * Asks in place of the guard, which asks once. For protocols in which one call takes several requests, as in MCP: the
   * second request continues with the decision of the first. `nested` and `step` are then ignored.
   */
  readonly admit?: ((prepared: PreparedCall) => Promise<Admission>) | undefined
  /**
   * Pauses the framework for a review by what it throws, whether a person has answered or not. If it returns true, the
   * framework continued: an unanswered review is then withdrawn, because the call does not come back to it. Not called if
   * the tool around this one pauses for the same decision.
   */
  readonly pause?: ((request: ReviewRequest, isAnswered: boolean) => boolean) | undefined
  /** Runs the tool. */
  readonly run: (args: unknown, run: GuardRun) => Result | Promise<Result>
  /** Reports to a stream of the framework. What it throws is ignored. */
  readonly tell?: ((event: DecisionEvent) => void) | undefined
  /** What the caller gets in place of a result. What it throws is thrown. */
  readonly refuse: (denied: DeniedError) => Result
  /** What the caller gets in place of an error of the tool. What it throws is thrown. Default: the error is thrown. */
  readonly fail?: ((error: unknown) => Result) | undefined
  /** Adds the words of the person who approved the call, for a model. Default: the result is unchanged. */
  readonly quote?: ((result: Result, words: string) => Result) | undefined
}

const toolRuns = runContextOf<GuardRun>('tool')

/**
 * Within a guarded tool: the decision of this run, its permit for a service that checks it, and `setAmount` for the real
 * cost of the action. Undefined elsewhere.
 */
export function currentRun(): GuardRun | undefined {
  return toolRuns.getStore()
}

/** Claims approved reviews: if several processes resume one call, one of them runs it. */
const THIS_PROCESS = crypto.randomUUID()

/**
 * Runs a call if it may, at most once, with the arguments that were asked about, and settles it by how it ended. If the call
 * cannot be asked about, it is refused.
 *
 * @throws what the tool throws, unless `fail` answers it; the signal's reason if it was aborted before the tool began
 */
export async function runToolCall<Call extends CalledTool, Result>(
  guard: ToolGuard<Call, string>,
  called: CallToRun<Call, Result>,
): Promise<Result> {
  const prepared = await prepareToolCall(guard, called.call, called.args, called.parse)
  return new ToolCallRun(guard, called, prepared).end()
}

class ToolCallRun<Call extends CalledTool, Result> {
  readonly #guard: ToolGuard<Call, string>
  readonly #called: CallToRun<Call, Result>
  readonly #prepared: PreparedCall
  readonly #inStep: CallInStep | undefined
  readonly #options: AdmitOptions
  #hasBegun = false
  #words: string | null = null

  constructor(guard: ToolGuard<Call, string>, called: CallToRun<Call, Result>, prepared: PreparedCall) {
    const { call, signal, nested = 'share', step } = called
    const { question } = prepared
    const variant = variantOf(call.name, question?.args)
    this.#guard = guard
    this.#called = called
    this.#prepared = prepared
    this.#inStep = step && question ? new CallInStep(step, question.request, variant) : undefined
    const key = this.#inStep?.key
    // A key names the call with its arguments already.
    const naming = key === undefined ? { variant } : { idempotencyKey: key, holder: key, claimHolder: THIS_PROCESS }
    this.#options = { signal, tag: call.id ?? call.name, nested, ...naming }
  }

  async end(): Promise<Result> {
    const { isPause, fail } = this.#called
    try {
      const admission = await this.#admit()
      return this.#quoted(await this.#guard.point.run(admission, (given) => this.#run(given, admission), this.#called))
    } catch (error) {
      if (!this.#hasBegun && DeniedError.isInstance(error)) return this.#refused(error)
      if (!this.#hasBegun || isPause?.(error)) throw error
      if (fail === undefined) throw this.#quotedError(error)
      return this.#quoted(fail(error))
    }
  }

  async #admit(): Promise<Admission> {
    const swallowed = this.#inStep?.swallowed
    if (swallowed) await this.#denySwallowed(swallowed)
    const { admit } = this.#called
    const admission = await (admit?.(this.#prepared) ?? this.#guard.point.admit(this.#prepared.request, this.#options))
    const id = admission.decision?.id
    // The tool around this one has the same decision. It pauses, and quotes the reviewer.
    if (id !== undefined && id === currentRun()?.decision?.id) return admission
    if (this.#pause(admission) && admission.kind === 'paused') await this.#withdrawPaused(admission)
    this.#words = reviewerWords(admission.decision?.review?.comment)
    return admission
  }

  /** Whether a framework that can pause continued instead. @throws what pauses it */
  #pause(admission: Admission): boolean {
    const { isPause, pause } = this.#called
    const { kind, asked, decision } = admission
    if (pause === undefined || kind === 'observed' || !decision.review) return false
    const request: ReviewRequest = {
      type: 'countersign.review',
      decision_id: decision.id,
      question: kind === 'paused' ? admission.question : 'The review is answered: resume the graph.',
      ...asked,
      ...this.#named,
      expires_at: decision.expires_at,
    }
    try {
      return pause(request, kind !== 'paused')
    } catch (error) {
      if (isPause?.(error)) {
        admission.pause()
        this.#inStep?.interruptFor(decision.id)
      }
      throw error
    }
  }

  /** @throws DeniedError (`withdrawn`), unless the decision point refuses the withdrawal */
  async #withdrawPaused(admission: PausedAdmission): Promise<void> {
    const { id: decision_id } = admission.decision
    if (!(await this.#withdraw(decision_id))) return
    try {
      admission.begin()
    } catch (cause) {
      throw new DeniedError('withdrawn', { decision_id, cause })
    }
  }

  /** @throws DeniedError (`withdrawn`), always */
  async #denySwallowed(decision_id: string): Promise<never> {
    warnOperator(
      'COUNTERSIGN_INTERRUPT_SWALLOWED',
      'A tool call that awaits a review was called again in the same run: the code around the guard treats its interrupt as an error. The review is withdrawn, and the call is denied. Put the guard around the retry: middleware: [guard, retry].',
    )
    await this.#withdraw(decision_id)
    throw new DeniedError('withdrawn', { decision_id })
  }

  /** Whether the decision point took the review back. */
  #withdraw(decision_id: string): Promise<boolean> {
    return this.#guard.client.decisions.reject(decision_id, { reason: 'the call continued without an answer' }).then(
      () => true,
      () => false,
    )
  }

  async #run(given: GuardRun, admission: Admission): Promise<Result> {
    const { run, isPause, hasNotRun } = this.#called
    this.#hasBegun = true
    this.#tell(admission.kind === 'observed' ? 'observed' : 'permitted', null, admission.decision?.id ?? null)
    try {
      const result = await toolRuns.run(given, () => run(this.#prepared.toRun(), given))
      await this.#inStep?.keep(() => ({ value: this.#quoted(result) }))
      return result
    } catch (error) {
      if (!isPause?.(error) && !hasNotRun?.(error))
        await this.#inStep?.keep(() => ({ thrown: named(this.#quotedError(error)) }))
      throw error
    }
  }

  /** The kept result, if the step makes a call again that has run already. @throws the kept error */
  async #refused(denied: DeniedError): Promise<Result> {
    const ended = denied.reason === 'settled' ? await this.#inStep?.kept() : undefined
    if (ended === undefined) {
      this.#tell('denied', denied.reason, denied.decision_id)
      return this.#called.refuse(denied)
    }
    if ('thrown' in ended) throw Object.assign(new Error(ended.thrown.message), { name: ended.thrown.name })
    return ended.value as Result
  }

  get #named(): { readonly tool: string; readonly tool_call_id: string | null } {
    return { tool: this.#called.call.name, tool_call_id: this.#called.call.id ?? null }
  }

  #tell(outcome: DecisionEvent['outcome'], reason: DeniedReason | null, decision_id: string | null): void {
    try {
      this.#called.tell?.({ type: 'countersign.decision', ...this.#named, outcome, reason, decision_id })
    } catch {
      // The stream has no reader left.
    }
  }

  #quoted(result: Result): Result {
    const { quote } = this.#called
    return this.#words === null || quote === undefined ? result : quote(result, this.#words)
  }

  #quotedError(error: unknown): unknown {
    if (this.#words === null || this.#called.quote === undefined || !(error instanceof Error))
      return this.#quoted(error as Result)
    return errorWithWords(error, this.#words)
  }
}

function named(error: unknown): { name: string; message: string } {
  const { name = 'Error', message = String(error) } = Object(error)
  return { name: String(name), message: String(message) }
}

/** Identifies a call by its name and all of its arguments: an approval is for exactly these. */
export function variantOf(called: string | readonly string[], args: unknown): string {
  return hashOfText(`${JSON.stringify(called)} ${textOfData(args)}`)
}
