/** A desk that pays from a budget, and a key for each role around it: none is kin of another. */
import { expect } from 'vitest'
import type { Answer, RunningServer, RunningServerOptions } from '../running-server.js'
import { runServer } from '../running-server.js'
import { createPolicy, everyItem, makeKey, succeed } from './refunds.js'

const SCOPES = {
  asker: ['decisions:write'],
  reviewer: ['reviews:write'],
  redeemer: ['permits:redeem'],
  settler: ['decisions:settle'],
  /** Asks too, but not for what the asker asked. */
  stranger: ['decisions:write', 'permits:redeem', 'reviews:write'],
} as const
export type Role = keyof typeof SCOPES
type Verb = 'approve' | 'decline' | 'claim' | 'confirm' | 'reject' | 'correct'

const WHO: Readonly<Record<Verb, Role>> = {
  approve: 'reviewer',
  decline: 'reviewer',
  claim: 'asker',
  confirm: 'asker',
  reject: 'asker',
  correct: 'settler',
}

type Keys = Readonly<Record<Role, { readonly id: string; readonly key: string }>>

export const AGENT = 'agent:desk'
export const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

interface DeskOptions extends RunningServerOptions {
  readonly budget?: object
  readonly rules?: readonly object[]
}

/** Allows up to 100, asks a person up to 1,000. */
export const RULES = [
  { action: 'pay.create', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
  { action: 'pay.create', effect: 'review', conditions: { 'context.amount': { $lte: 1000 } } },
]

interface TransitionOptions {
  readonly as?: Role | 'admin'
  readonly name?: string
}

// biome-ignore lint/suspicious/noExplicitAny: answers are whatever JSON came; tests assert what they read of it
type AnyJson = any

export class Desk {
  private constructor(
    public server: RunningServer,
    private readonly keys: Keys,
    public policy: AnyJson,
  ) {}

  static async open({ budget, rules = RULES, settings, ...options }: DeskOptions = {}): Promise<Desk> {
    const server = await runServer({ ...options, settings: { rateLimitPerSecond: 0, ...settings } })
    const keys: Record<string, object> = {}
    for (const [role, scopes] of Object.entries(SCOPES)) keys[role] = await makeKey(server, scopes)
    const limit = { limit: 1000, unit: 'EUR', period: 'monthly', ...budget }
    const policy = await createPolicy(server, { name: 'desk', rules, budget: limit })
    return new Desk(server, keys as Keys, policy)
  }

  get clock() {
    return this.server.clock
  }
  keyOf(role: Role | 'admin'): string {
    return role === 'admin' ? this.server.key : this.keys[role].key
  }
  idOf(role: Role): string {
    return this.keys[role].id
  }
  stop(): Promise<void> {
    return this.server.stop()
  }

  /** Asks with the asker's key. */
  ask(amount: number, { name, holder }: { readonly name?: string; readonly holder?: string } = {}): Promise<Answer> {
    const body = { agent_id: AGENT, action: 'pay.create', context: { amount }, ...(holder !== undefined && { holder }) }
    const headers = name === undefined ? {} : { 'Idempotency-Key': name }
    return this.server.call('POST', '/v1/decisions', { key: this.keyOf('asker'), body, headers })
  }
  async decide(amount: number): Promise<AnyJson> {
    return succeed(this.ask(amount))
  }

  /** Moves a decision with the key that usually does. */
  transition(
    verb: Verb,
    id: string,
    body: object = {},
    { as = WHO[verb], name }: TransitionOptions = {},
  ): Promise<Answer> {
    const headers = name === undefined ? {} : { 'Idempotency-Key': name }
    return this.server.call('POST', `/v1/decisions/${id}/${verb}`, { key: this.keyOf(as), body, headers })
  }
  redeem(permit_token: string, as: Role = 'redeemer'): Promise<Answer> {
    return this.server.call('POST', '/v1/permits/redeem', { key: this.keyOf(as), body: { permit_token } })
  }

  async get(id: string, as: Role | 'admin' = 'admin'): Promise<AnyJson> {
    return succeed(this.server.call('GET', `/v1/decisions/${id}`, { key: this.keyOf(as) }))
  }
  /** The rows of GET /v1/budgets. */
  budgets(): Promise<AnyJson[]> {
    return everyItem(this.server, '/v1/budgets')
  }
  /** What the one present account holds. */
  async account(): Promise<{ readonly spent: number; readonly reserved: number; readonly remaining: number }> {
    const rows = await this.budgets()
    expect(rows).toHaveLength(1)
    const { spent, reserved, remaining } = rows[0]
    return { spent, reserved, remaining }
  }
  /** The types of its audit entries, the first one first, without the first: that it was made. */
  async told(id: string): Promise<string[]> {
    const entries = await everyItem(this.server, `/v1/audit?decision_id=${id}`)
    return entries
      .map(({ type }) => type.replace('decision.', ''))
      .reverse()
      .slice(1)
  }

  async approved(amount = 400): Promise<AnyJson> {
    const { id } = await this.decide(amount)
    return succeed(this.transition('approve', id))
  }
  async claimed(amount = 400, holder = 'one'): Promise<AnyJson> {
    const { id } = await this.approved(amount)
    return succeed(this.transition('claim', id, { holder }))
  }
  suspend(agent = AGENT): Promise<AnyJson> {
    return succeed(this.server.call('POST', `/v1/agents/${agent}/suspend`))
  }
  resume(agent = AGENT): Promise<AnyJson> {
    return succeed(this.server.call('POST', `/v1/agents/${agent}/resume`))
  }
  async replacePolicy(changes: object): Promise<AnyJson> {
    const { id, name, rules, budget } = this.policy
    const body = { name, rules, budget, ...changes }
    this.policy = await succeed(this.server.call('PUT', `/v1/policies/${id}`, { body }))
    return this.policy
  }
}

/** A 409 with what the decision is. */
export const conflict = (current_status: string) => ({
  status: 409,
  body: { code: 'invalid_transition', current_status },
})
