import { AsyncLocalStorage } from 'node:async_hooks'
import { type ActionOutcome, DeniedError, type GuardRun } from '@countersign/client'
import { prepareToolCall } from '@countersign/client/kernel'
import { ToolMessage } from '@langchain/core/messages'
import { callKey, variantOf } from './call-key.js'
import type { ToolGuard } from './guard-options.js'
import type { GuardedToolCall, ToolMapping } from './guarded-tool-call.js'
import { interruptForReview, isGraphBubbleUp } from './review.js'

/** What LangGraph gives a tool call in addition to its arguments; absent outside of a graph. */
export interface CallRuntime {
  readonly context?: unknown
  readonly configurable?: Readonly<Record<string, unknown>> | undefined
  readonly signal?: AbortSignal | undefined
  readonly writer?: ((chunk: unknown) => void) | null | undefined
  readonly interrupt?: ((value: unknown) => unknown) | undefined
}

/** A call that is to be asked about. */
export interface CallToGuard {
  readonly name: string
  readonly id: string | undefined
  readonly args: unknown
  /** Gives the mapping the arguments as the tool will have them, where they have not passed its schema yet. */
  readonly parse?: ((args: unknown) => Promise<unknown>) | undefined
  readonly mapping: ToolMapping | undefined
  readonly runtime: CallRuntime
  /** Whether what was thrown says that the tool has surely not run. */
  readonly isRefused?: ((error: unknown) => boolean) | undefined
}

/** What a guard writes to the stream of a graph, for `streamMode: 'custom'`, once it is known whether a call runs. */
export interface DecisionEvent {
  readonly type: 'countersign.decision'
  readonly tool: string
  readonly tool_call_id: string | null
  /** `observed`: the mode is `observe`, and the call runs in any case. */
  readonly outcome: 'permitted' | 'observed' | 'denied'
  /** Null unless it is denied. */
  readonly reason: DeniedError['reason'] | null
  /** Null when there was no answer. */
  readonly decision_id: string | null
}

/** How the run of a call ended. */
type Ended<Result> = { readonly value: Result } | { readonly refused: unknown }

/** Claims what a person has approved: several processes that resume one thread run it once. */
const THIS_PROCESS = crypto.randomUUID()

const runs = new AsyncLocalStorage<GuardRun>()

/**
 * Within a guarded tool: what permitted its run. It has the permit for a service that checks it, and `setAmount` for what the
 * action really cost. Undefined elsewhere.
 */
export function currentRun(): GuardRun | undefined {
  return runs.getStore()
}

/**
 * Runs a call if it may, once, with the arguments that were asked about, and settles it by how it ended. `onDenied` answers in
 * its place. What the action throws is thrown, and what interrupts the graph is, too.
 */
export async function guardCall<Result>(
  guard: ToolGuard,
  called: CallToGuard,
  run: (args: unknown) => Result | Promise<Result>,
  onDenied: (denied: DeniedError) => Result,
): Promise<Result> {
  const { name, id, runtime } = called
  const call: GuardedToolCall = {
    name,
    id,
    context: Object(runtime.context ?? {}),
    configurable: runtime.configurable ?? {},
  }
  const report = (
    outcome: DecisionEvent['outcome'],
    reason: DecisionEvent['reason'],
    decision_id: string | null,
  ): void =>
    write(runtime, { type: 'countersign.decision', tool: name, tool_call_id: id ?? null, outcome, reason, decision_id })
  const { request, toRun, question } = await prepareToolCall(guard, { ...called, call })
  const key = question === null ? undefined : callKey(call, question.request, question.args)
  let [isRunning, isWithdrawn] = [false, false]
  try {
    const options = {
      signal: runtime.signal,
      idempotencyKey: key,
      holder: key,
      claimHolder: key && THIS_PROCESS,
      // A key names the call with its arguments already.
      variant: key === undefined ? variantOf(call, question?.args) : undefined,
      tag: id ?? name,
      nested: 'share' as const,
    }
    const admission = await guard.point.admit(request, options)
    // The guard around this one has interrupted for the decision that they share.
    const isShared = admission.decision !== null && admission.decision.id === currentRun()?.decision?.id
    if (guard.review === 'interrupt' && !isShared)
      isWithdrawn = await interruptForReview(guard.client, admission, call, runtime.interrupt)
    const action = async (given: GuardRun): Promise<Ended<Result>> => {
      isRunning = true
      report(admission.kind === 'observed' ? 'observed' : 'permitted', null, admission.decision?.id ?? null)
      try {
        return { value: await runs.run(given, run, toRun()) }
      } catch (error) {
        if (called.isRefused?.(error)) return { refused: error }
        throw error
      }
    }
    const ended = await guard.point.run(admission, action, { outcome: outcomeOf, isPause: isGraphBubbleUp })
    if ('refused' in ended) throw ended.refused
    return ended.value
  } catch (error) {
    if (isRunning || !DeniedError.isInstance(error)) throw error
    const { decision_id } = error
    const denied = isWithdrawn ? new DeniedError('withdrawn', { decision_id, cause: error }) : error
    report('denied', denied.reason, decision_id)
    return onDenied(denied)
  }
}

function outcomeOf(ended: Ended<unknown>): ActionOutcome {
  if ('refused' in ended) return { kind: 'failed' }
  return failureOf(ended.value) ?? { kind: 'succeeded', value: ended.value }
}

/** Of a value that says that the tool failed; undefined of any other. */
export function failureOf(value: unknown): ActionOutcome | undefined {
  const [content] = Array.isArray(value) ? value : [value]
  const isFailure = ToolMessage.isInstance(content) && content.status === 'error'
  return isFailure ? { kind: 'failed', error: content.text } : undefined
}

function write({ writer }: CallRuntime, event: DecisionEvent): void {
  try {
    writer?.(event)
  } catch {
    // Nobody reads the stream any more.
  }
}
