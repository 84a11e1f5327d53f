/**
 * The `requestState` of `input_required` (2026-07-28), which the client returns with the same call. It names the decision and
 * contains the tool's own state. The client keeps it, so the gate signs it and binds it to the call.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { DeniedError } from '@countersign/client'
import { type CallWithArgs, variantOfCall } from './call-key.js'

/** A call that waits for its client. */
export interface PausedCall {
  readonly decision_id: string
  /** `tool`: the tool waits for input from the client. `review`: the gate waits for the answer to a review. */
  readonly awaits: 'tool' | 'review'
  /** The tool's own state, for the client to return. */
  readonly state?: string | undefined
}

/** A paused call that the client has continued. */
export interface BroughtCall extends PausedCall {
  /** Call it after the admission, right before the run. Returns false if the state was already used. */
  take(): boolean
}

interface Signed extends PausedCall {
  readonly nonce: string
  /** The end of the decision, in milliseconds since 1970. A used state is remembered until then. */
  readonly endsAtMs: number
}

const SWEEP_AT_LEAST = 1_024
const KEY_BYTES = 32
const KEY_OF_PROCESS = randomBytes(KEY_BYTES)

export class RequestStates {
  /** Shared by all gates of this process, because a server may exist for one request only. */
  static readonly #taken = new Map<string, number>()
  static #sweepAt = SWEEP_AT_LEAST
  readonly #key: Uint8Array | string

  /** @param key shared by processes that may continue each other's calls; default: a key of this process */
  constructor(key: Uint8Array | string = KEY_OF_PROCESS) {
    this.#key = key
  }

  /** @param endsAt the end of the decision, in RFC 3339 */
  seal({ decision_id, awaits, state }: PausedCall, endsAt: string, of: CallWithArgs): string {
    const nonce = randomBytes(16).toString('base64url')
    const signed: Signed = { decision_id, awaits, state, nonce, endsAtMs: Date.parse(endsAt) }
    const payload = Buffer.from(JSON.stringify(signed)).toString('base64url')
    return `${payload}.${this.#sign(payload, of).toString('base64url')}`
  }

  /**
   * Undefined for a call without a state.
   *
   * @throws DeniedError (`refused`) for a state that does not belong to this call
   */
  open(brought: unknown, of: CallWithArgs): BroughtCall | undefined {
    if (brought === undefined) return undefined
    const [payload = '', signature = '', ...more] = typeof brought === 'string' ? brought.split('.', 3) : []
    const given = Buffer.from(signature, 'base64url')
    const expected = this.#sign(payload, of)
    if (more.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected))
      throw new DeniedError('refused', {
        detail: 'The requestState belongs to another call, other arguments or another caller.',
      })
    const signed = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Signed
    return { ...signed, take: () => RequestStates.#take(signed) }
  }

  #sign(payload: string, of: CallWithArgs): Buffer {
    const { authInfo, sessionId } = of.call
    const caller = [authInfo?.clientId ?? null, sessionId ?? null]
    const bound = createHash('sha256')
      .update(JSON.stringify([variantOfCall(of), caller]))
      .digest('base64url')
    return createHmac('sha256', this.#key).update(`countersign-mcp/1 ${bound} ${payload}`).digest()
  }

  static #take({ nonce, endsAtMs }: Signed): boolean {
    const taken = RequestStates.#taken
    if (taken.has(nonce)) return false
    if (taken.size >= RequestStates.#sweepAt) {
      for (const [one, untilMs] of taken) if (untilMs <= Date.now()) taken.delete(one)
      RequestStates.#sweepAt = Math.max(SWEEP_AT_LEAST, taken.size * 2)
    }
    taken.set(nonce, endsAtMs)
    return true
  }
}

/** @throws TypeError */
export function assertStateKey(key: unknown): void {
  const isKey = typeof key === 'string' || key instanceof Uint8Array
  if (isKey && Buffer.byteLength(key) >= KEY_BYTES) return
  throw new TypeError(`stateKey must be a secret of at least ${KEY_BYTES} bytes, the same in each process`)
}
