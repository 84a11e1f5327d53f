/**
 * The `requestState` of `input_required` (2026-07-28), which the client returns with the same call. It names the decision, and holds the
 * tool's own state. Because the client keeps it, it is signed, and bound to that call.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { DeniedError } from '@countersign/client'
import { textOfData } from '@countersign/client/kernel'
import type { GatedCall } from './gated-call.js'

/** A call that waits for its client. */
export interface PausedCall {
  readonly decision_id: string
  /** `tool`: the tool waits for input from the client. `review`: the gate waits for the answer to a review. */
  readonly awaits: 'tool' | 'review'
  /** What the tool itself has given the client to bring back. */
  readonly state?: string | undefined
}

/** One that was brought back. */
export interface BroughtCall extends PausedCall {
  /** False when it was taken before. To be called once the call is admitted, right before it runs. */
  take(): boolean
}

/** The call that a state belongs to, and no other. */
export interface CallOfState {
  readonly call: GatedCall
  readonly args: unknown
}

interface Signed extends PausedCall {
  readonly nonce: string
  /** When the decision is over, in milliseconds since 1970: until then it is remembered that it was taken. */
  readonly endsAtMs: number
}

const SWEEP_AT_LEAST = 1_024
const KEY_BYTES = 32
const KEY_OF_PROCESS = randomBytes(KEY_BYTES)

export class RequestStates {
  /** Of all gates of this process: a server that is made anew for each request knows what an earlier one took. */
  static readonly #taken = new Map<string, number>()
  static #sweepAt = SWEEP_AT_LEAST
  readonly #key: Uint8Array | string

  /** @param key shared by the processes that may go on with each other's calls; default: of this process alone */
  constructor(key: Uint8Array | string = KEY_OF_PROCESS) {
    this.#key = key
  }

  /** @param endsAt when the decision is over, in RFC 3339 */
  seal({ decision_id, awaits, state }: PausedCall, endsAt: string, of: CallOfState): string {
    const nonce = randomBytes(16).toString('base64url')
    const signed: Signed = { decision_id, awaits, state, nonce, endsAtMs: Date.parse(endsAt) }
    const payload = Buffer.from(JSON.stringify(signed)).toString('base64url')
    return `${payload}.${this.#sign(payload, of).toString('base64url')}`
  }

  /**
   * Undefined for a call that brings nothing back.
   *
   * @throws DeniedError (`refused`) for a state that does not belong to this call
   */
  open(brought: unknown, of: CallOfState): BroughtCall | undefined {
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

  #sign(payload: string, { call, args }: CallOfState): Buffer {
    const { name, authInfo, sessionId } = call
    const caller = [authInfo?.clientId ?? null, sessionId ?? null]
    const bound = createHash('sha256')
      .update(textOfData([name, args ?? null, caller]))
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
  throw new TypeError(`stateKey has to be a secret of at least ${KEY_BYTES} bytes, the same in each process`)
}
