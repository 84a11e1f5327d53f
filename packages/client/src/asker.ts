import { type Call, nameOf } from './call.js'
import { readDecisionAbout } from './decision-answer.js'
import { DECISION_ENDPOINTS } from './endpoints.js'
import { callOf } from './operation.js'
import type { AuthorizeRequest } from './options.js'
import type { Requester } from './requester.js'
import type { Decision } from './wire.js'

/** Asks whether an agent may run an action, for the one agent of a client that has one. */
export class Asker {
  /** The holders of the decisions that were returned, for as long as the caller keeps the decisions. */
  readonly holders = new WeakMap<Decision, string>()
  readonly requester: Requester
  readonly #agentId: string | undefined

  constructor(requester: Requester, agentId: string | undefined) {
    this.requester = requester
    this.#agentId = agentId
  }

  /** The agent of a question. @throws TypeError for an agent other than the client's, and for none */
  agentOf({ agent_id }: Pick<AuthorizeRequest, 'agent_id'>): string {
    const own = this.#agentId
    const asked = agent_id ?? own
    if (asked === undefined) throw new TypeError('agent_id is missing: pass it, or agentId to the client')
    if (own !== undefined && asked !== own) {
      throw new TypeError(`agent_id must be ${own}, the agent of this client`)
    }
    return asked
  }

  /** @param more what an enforcement point adds to the call */
  async ask(request: AuthorizeRequest, more?: Pick<Call, 'headers' | 'lateMs'>): Promise<Decision> {
    const { idempotencyKey, signal, timeoutMs, ...given } = request
    const holder = this.requester.names.holderOf(given.holder ?? crypto.randomUUID())
    const body = { ...given, agent_id: this.agentOf(given), holder }
    const options = { idempotencyKey, signal, timeoutMs }
    const call = callOf(DECISION_ENDPOINTS['decisions.decide'], { ...more, body, options })
    const decision = readDecisionAbout(nameOf(call), await this.requester.send(call), body)
    this.holders.set(decision, holder)
    return decision
  }
}
