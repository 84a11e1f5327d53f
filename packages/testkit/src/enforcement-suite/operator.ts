/** Who runs the decision point: makes policies, reviews, and sees what became of each decision. */
import type { Decision, Effect, JsonObject } from '@countersign/contract'

/** A decision point as it is shipped. */
export interface RealDecisionPoint {
  readonly url: string
  /** Of a key that may do everything. */
  readonly apiKey: string
}

export interface Account {
  readonly spent: number
  readonly reserved: number
}

export class Operator {
  readonly #point: RealDecisionPoint

  constructor(point: RealDecisionPoint) {
    this.#point = point
  }

  /** A key, by default for enforcement points. */
  async makeKey(scopes: readonly string[] = ['decisions:write', 'permits:redeem']): Promise<string> {
    const { key } = await this.#call<{ key: string }>('POST', '/v1/keys', { name: 'enforcement suite', scopes })
    return key
  }

  /** Decides all of one action in one way. */
  async makePolicy(action: string, effect: Effect, budget?: JsonObject): Promise<{ readonly id: string }> {
    const rules = [{ action, effect }]
    return this.#call('POST', '/v1/policies', { name: policyName(action), rules, ...(budget && { budget }) })
  }

  decision(id: string): Promise<Decision & { readonly context?: JsonObject | null }> {
    return this.#call('GET', `/v1/decisions/${id}`)
  }

  /** What was done with a decision since it was asked for, oldest first. */
  async told(id: string): Promise<readonly string[]> {
    const { data } = await this.#call<{ data: { type: string }[] }>('GET', `/v1/audit?decision_id=${id}`)
    const types = data.map(({ type }) => type.replace('decision.', '')).reverse()
    return types.slice(1)
  }

  async account(policyId: string): Promise<Account | undefined> {
    const { data } = await this.#call<{ data: Account[] }>('GET', `/v1/policies/${policyId}/budget`)
    return data.map(({ spent, reserved }) => ({ spent, reserved }))[0]
  }

  async transition(id: string, verb: 'approve' | 'decline' | 'reject', body = {}): Promise<void> {
    await this.#call('POST', `/v1/decisions/${id}/${verb}`, body)
  }

  async #call<Answered>(method: string, path: string, body?: object): Promise<Answered> {
    const { url, apiKey } = this.#point
    const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
    const answer = await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} answers ${answer.status}: ${text}`)
    return JSON.parse(text) as Answered
  }
}

/** Of the policy that decides an action. Nobody else should ever read it. */
export function policyName(action: string): string {
  return `the policy that decides ${action}`
}
