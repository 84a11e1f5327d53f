/**
 * One leg of a call. With `input_required` (2026-07-28) a client repeats its call and returns the state that it received. All legs
 * share one decision.
 */
import { type Admission, type AdmitOptions, DeniedError } from '@countersign/client'
import type { PreparedCall } from '@countersign/client/kernel'
import type { ToolGate } from '../gate-options.js'
import { TOOL_CALL } from '../rules/methods.js'
import type { GatedCall } from './call.js'
import { type CallWithArgs, callKey, variantOfCall } from './call-key.js'
import { admitAnswered, admitElicited, type Elicit, reviewAnswerIn, reviewInputOf } from './elicitation.js'
import type { BroughtCall, PausedCall } from './request-state.js'
import { type ToolResult, withDecision } from './result.js'

/** What the client has returned with the repeated call, unchanged. */
export interface Brought {
  readonly requestState?: unknown
  readonly inputResponses?: unknown
}

export interface LegOfCall {
  readonly call: GatedCall
  readonly brought?: Brought | undefined
  /** How the gate can ask the user of the client. Undefined if it cannot. */
  readonly elicit?: Elicit | undefined
  /** Denies the call before the decision point is asked, for example because the tool is not the one that was mapped. */
  readonly fault?: DeniedError | undefined
  /** Aborted when the caller cancels the call. */
  readonly signal?: AbortSignal | undefined
}

export class CallLeg {
  readonly #brought: Brought
  readonly #request: PreparedCall['request']
  readonly #of: CallWithArgs
  readonly #paused: BroughtCall | undefined
  readonly #idempotencyKey: string | undefined

  constructor(
    private readonly gate: ToolGate,
    private readonly leg: LegOfCall,
    { request, question }: Pick<PreparedCall, 'request' | 'question'>,
  ) {
    const { call, brought = {}, fault } = leg
    this.#brought = brought
    this.#request = fault === undefined ? request : thrower(fault)
    this.#of = { call, args: question?.args }
    try {
      // A call that must not be asked about must not continue an earlier leg either.
      if (question !== null && fault === undefined) this.#paused = gate.states.open(brought.requestState, this.#of)
      if (this.#paused === undefined)
        this.#idempotencyKey = callKey(gate.idempotencyKey, this.#of, question?.request.agent_id)
    } catch (error) {
      this.#request = thrower(error)
    }
  }

  /** The part that is for the tool. A state that the gate did not sign reaches the tool in the mode `observe` only. */
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
   * Returns a paused admission if the call awaits a review, and the client is to be asked by `input_required` or cannot be asked.
   *
   * @throws as `admit` of the enforcement point; DeniedError if an earlier leg has used the state
   */
  async admit(): Promise<Admission> {
    const admission = await this.#admit()
    if (admission.kind !== 'permitted' || this.#paused?.take() !== false) return admission
    admission.pause()
    throw new DeniedError('already_claimed', { decision_id: this.#paused.decision_id })
  }

  /** A key already identifies the call with its arguments. */
  #naming(): Pick<AdmitOptions, 'idempotencyKey' | 'variant'> {
    const idempotencyKey = this.#idempotencyKey
    return idempotencyKey === undefined ? { variant: variantOfCall(this.#of) } : { idempotencyKey }
  }

  async #admit(): Promise<Admission> {
    const { elicit, signal, call } = this.leg
    const { point, reviewer } = this.gate
    const ways = { signal, tag: tagOf(call), nested: 'share', pauseBy: 'id' } as const
    const paused = this.#paused
    if (paused?.awaits === 'tool') return point.admit(this.#request, { ...ways, goOnWith: paused.decision_id })
    const admit = (goOnWith?: string): Promise<Admission> =>
      point.admit(this.#request, {
        ...ways,
        // Only one of the calls that continue with a review claims it.
        ...(goOnWith === undefined
          ? this.#naming()
          : { goOnWith, claimHolder: crypto.randomUUID(), variant: variantOfCall(this.#of) }),
      })
    if (reviewer === undefined || elicit === undefined) return admit(paused?.decision_id)
    if (paused !== undefined) {
      const answer = reviewAnswerIn(this.#brought.inputResponses)
      return admitAnswered(admit, reviewer, paused.decision_id, answer)
    }
    return elicit === 'input_required' ? admit() : admitElicited(admit, reviewer, elicit, signal)
  }

  /** The result that asks the client about a review. Undefined if the client is not asked. */
  reviewInput(admission: Admission): ToolResult | undefined {
    if (admission.kind !== 'paused' || this.leg.elicit !== 'input_required') return undefined
    const input = reviewInputOf(admission)
    return input && this.#sealed('review', input, admission)
  }

  /** The result by which a tool asks the client for input. The admission must be paused first. */
  toolInput(result: ToolResult, admission: Admission): ToolResult {
    return this.#sealed('tool', result, admission)
  }

  #sealed(awaits: PausedCall['awaits'], result: ToolResult, admission: Admission): ToolResult {
    const { decision } = admission
    // A call that is only observed has no decision.
    if (decision === null) return result
    const { id: decision_id, expires_at } = decision
    const state = typeof result.requestState === 'string' ? result.requestState : undefined
    const requestState = this.gate.states.seal({ decision_id, awaits, state }, expires_at, this.#of)
    return { ...withDecision(result, admission), requestState }
  }
}

function tagOf({ method, name }: GatedCall): string {
  return method === TOOL_CALL || method === name ? name : `${method} ${name}`
}

function thrower(fault: unknown): () => never {
  return () => {
    throw fault
  }
}
