/**
 * One leg of a call. With `input_required` (2026-07-28) the client repeats a call, and returns the state that it was given. All legs
 * share one decision.
 */
import { type Admission, type AdmitOptions, DeniedError } from '@countersign/client'
import type { PreparedCall } from '@countersign/client/kernel'
import { callKey, variantOf } from './call-key.js'
import { admitAnswered, admitElicited, type Elicit, reviewAnswerIn, reviewInputOf } from './elicitation.js'
import type { ToolGate } from './gate-options.js'
import type { GatedCall } from './gated-call.js'
import type { BroughtCall, CallOfState, PausedCall } from './request-state.js'
import { type ToolResult, withDecision } from './tool-result.js'

/** What the client has brought back with the same call, as it wrote it. */
export interface Brought {
  readonly requestState?: unknown
  readonly inputResponses?: unknown
}

export interface LegOfCall {
  readonly call: GatedCall
  readonly brought?: Brought | undefined
  /** How the user at the client can be asked; undefined where not at all. */
  readonly elicit?: Elicit | undefined
  /** What keeps the call from being asked about at all, such as a tool that is not the one that was mapped. */
  readonly fault?: DeniedError | undefined
  /** Aborted when the caller has cancelled the call. */
  readonly signal?: AbortSignal | undefined
}

export class CallLeg {
  readonly #gate: ToolGate
  readonly #leg: LegOfCall
  readonly #brought: Brought
  readonly #request: PreparedCall['request']
  readonly #of: CallOfState
  readonly #paused: BroughtCall | undefined
  readonly #idempotencyKey: string | undefined

  constructor(gate: ToolGate, leg: LegOfCall, { request, question }: Pick<PreparedCall, 'request' | 'question'>) {
    const { call, brought = {}, fault } = leg
    this.#gate = gate
    this.#leg = leg
    this.#brought = brought
    this.#request = fault === undefined ? request : thrower(fault)
    this.#of = { call, args: question?.args }
    try {
      // What is not to be asked about is not gone on with either.
      if (question !== null && fault === undefined) this.#paused = gate.states.open(brought.requestState, this.#of)
      if (this.#paused === undefined)
        this.#idempotencyKey = callKey(gate.idempotencyKey, this.#of, question?.request.agent_id)
    } catch (error) {
      this.#request = thrower(error)
    }
  }

  /** What is for the tool. A state that is not known to be ours reaches one in the mode `observe` alone. */
  get brought(): Brought {
    const { requestState, inputResponses } = this.#brought
    if (this.#paused?.awaits === 'review') return {}
    const state = this.#paused === undefined ? requestState : this.#paused.state
    return {
      ...(state !== undefined && { requestState: state }),
      ...(inputResponses !== undefined && { inputResponses }),
    }
  }

  /**
   * An admission that awaits a review is of a client that is to be asked about it by `input_required`, or of one that cannot be asked.
   *
   * @throws as `admit` of the enforcement point; DeniedError for a leg that came before
   */
  async admit(): Promise<Admission> {
    const admission = await this.#admit()
    if (admission.kind !== 'permitted' || this.#paused?.take() !== false) return admission
    admission.pause()
    throw new DeniedError('already_claimed', { decision_id: this.#paused.decision_id })
  }

  /** A key names the call with its arguments already. */
  #naming(): Pick<AdmitOptions, 'idempotencyKey' | 'variant'> {
    const idempotencyKey = this.#idempotencyKey
    return idempotencyKey === undefined ? { variant: variantOf(this.#of) } : { idempotencyKey }
  }

  async #admit(): Promise<Admission> {
    const { elicit, signal, call } = this.#leg
    const { point, reviewer } = this.#gate
    const ways = { signal, tag: call.name, nested: 'share', pauseBy: 'id' } as const
    const paused = this.#paused
    if (paused?.awaits === 'tool') return point.admit(this.#request, { ...ways, goOnWith: paused.decision_id })
    const admit = (goOnWith?: string): Promise<Admission> =>
      point.admit(this.#request, {
        ...ways,
        // Of all that go on with a review, one claims it.
        ...(goOnWith === undefined
          ? this.#naming()
          : { goOnWith, claimHolder: crypto.randomUUID(), variant: variantOf(this.#of) }),
      })
    if (reviewer === undefined || elicit === undefined) return admit(paused?.decision_id)
    if (paused !== undefined) {
      const answer = reviewAnswerIn(this.#brought.inputResponses)
      return admitAnswered(admit, reviewer, paused.decision_id, answer)
    }
    return elicit === 'input_required' ? admit() : admitElicited(admit, reviewer, elicit, signal)
  }

  /** What the client is asked in the place of a result, about what awaits a review; undefined for everything else. */
  reviewInput(admission: Admission): ToolResult | undefined {
    if (admission.kind !== 'paused' || this.#leg.elicit !== 'input_required') return undefined
    const input = reviewInputOf(admission)
    return input && this.#sealed('review', input, admission)
  }

  /** What a tool asks the client, once the admission is paused. */
  toolInput(result: ToolResult, admission: Admission): ToolResult {
    return this.#sealed('tool', result, admission)
  }

  #sealed(awaits: PausedCall['awaits'], result: ToolResult, admission: Admission): ToolResult {
    const { decision } = admission
    // Only what is observed has none.
    if (decision === null) return result
    const { id: decision_id, expires_at } = decision
    const state = typeof result.requestState === 'string' ? result.requestState : undefined
    const requestState = this.#gate.states.seal({ decision_id, awaits, state }, expires_at, this.#of)
    return { ...withDecision(result, admission), requestState }
  }
}

function thrower(fault: unknown): () => never {
  return () => {
    throw fault
  }
}
