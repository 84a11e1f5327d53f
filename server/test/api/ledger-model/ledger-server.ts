import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { typeidIds } from '#server/adapters/typeid-ids'
import type { Ids } from '#server/ports/ids'
import { keySetOf } from '../../audit-logs.js'
import { runAudit } from '../../audited-records.js'
import { type Answer, type RunningServer, runServer, TestClock } from '../../running-server.js'
import { everyItem, makeKey, succeed } from '../refunds.js'
import { byRow, type Step, type StepAnswer } from './step.js'

/** The keys of the golden cases: one asks and settles what it asked, the others are no kin of it. */
const SCOPES = {
  asker: ['decisions:write'],
  reviewer: ['reviews:write'],
  redeemer: ['permits:redeem'],
  settler: ['decisions:settle'],
}

type Keys = Readonly<Record<keyof typeof SCOPES, string>>

const NO_DECISION = 'dec_01kagx3v5ne8sr6w1y6gqk4t2h'
const STEPS_BETWEEN_RESTARTS = 200
/** Who makes a transition, unless the step says it. */
const WHO: Readonly<Record<'approve' | 'decline' | 'claim' | 'confirm' | 'reject' | 'correct', keyof Keys>> = {
  ...{ approve: 'reviewer', decline: 'reviewer', claim: 'asker' },
  ...{ confirm: 'asker', reject: 'asker', correct: 'settler' },
}

/** The real application on a clock and with policy ids that the test sets, step by step. */
export class LedgerServer {
  #stepsSinceStart = 0
  readonly #known = new Set<string>()
  /** By the name that a step gave. */
  readonly #decisions = new Map<string, string>()
  /** The newest that each decision gave. */
  readonly #permits = new Map<string, string>()

  private constructor(
    private server: RunningServer,
    private readonly keys: Keys,
    private readonly nextPolicy: { id: string },
  ) {}

  static async start(now: Date): Promise<LedgerServer> {
    const clock = new TestClock()
    clock.set(now)
    const made = typeidIds(clock)
    const nextPolicy = { id: '' }
    const ids: Ids = { ...made, next: (prefix) => (prefix === 'pol' ? nextPolicy.id : made.next(prefix)) }
    const limits = { rateLimitPerSecond: 0, maxOpenReviews: 1_000_000, maxOpenReviewsPerKey: 1_000_000 }
    // The port is another one after a restart; permits are good all the same.
    const settings = { ...limits, issuer: 'https://decisions.example' }
    const server = await runServer({ clock, settings, parts: { ids } })
    const keys: Record<string, string> = {}
    for (const [name, scopes] of Object.entries(SCOPES)) keys[name] = (await makeKey(server, scopes)).key
    return new LedgerServer(server, keys as Keys, nextPolicy)
  }

  now(): Date {
    return this.server.clock.now()
  }
  setTime(date: Date): void {
    this.server.clock.set(date)
  }
  stop(): Promise<void> {
    return this.server.stop()
  }

  /** What `audit verify --records` says of everything that happened. */
  async verifyRecords(): Promise<Awaited<ReturnType<typeof runAudit>>> {
    const jwks = join(this.server.dataDir, 'jwks-of-verify.json')
    writeFileSync(jwks, JSON.stringify(await keySetOf(this.server)))
    return runAudit(this.server, ['audit', 'verify', '--records', '--jwks', jwks])
  }

  /** Restarts on the same data, unless it did so a short while ago: that costs as much as many steps. */
  async restartNowAndThen(): Promise<void> {
    if (this.#stepsSinceStart < STEPS_BETWEEN_RESTARTS) return
    this.#stepsSinceStart = 0
    this.server = await this.server.restart()
  }

  async registerAgent(id: string, metadata: object, isSuspended: boolean): Promise<void> {
    await succeed(this.server.call('POST', '/v1/agents', { body: { id, metadata } }))
    if (isSuspended) await succeed(this.server.call('POST', `/v1/agents/${id}/suspend`))
  }

  /** Of the newest decisions those of these names, as the list shows them. */
  async list(refs: readonly string[]): Promise<ReadonlyMap<string, StepAnswer>> {
    const ids = refs.map((ref) => this.#decisions.get(ref))
    const { data } = await succeed(this.server.call('GET', `/v1/decisions?limit=${Math.max(1, new Set(ids).size)}`))
    const found = refs.map((ref, i) => [ref, data.find(({ id }: { id: string }) => id === ids[i])] as const)
    return new Map(found.map(([ref, decision]) => [ref, { http: 200, ...decision }]))
  }

  async perform(step: Step): Promise<StepAnswer> {
    this.#stepsSinceStart += 1
    switch (step.op) {
      case 'put_policy':
        return this.#putPolicy(step.policy)
      case 'delete_policy':
        return answerOf(await this.server.call('DELETE', `/v1/policies/${step.policy_id}`))
      case 'suspend':
      case 'resume':
        return answerOf(await this.server.call('POST', `/v1/agents/${step.agent_id}/${step.op}`))
      case 'budgets':
        return { http: 200, data: (await everyItem(this.server, '/v1/budgets')).sort(byRow) }
      case 'redeem':
        return this.#redeem(step.ref)
      default:
        return this.#remember(step.ref, await this.#ask(step))
    }
  }

  async #putPolicy(policy: { readonly id: string }): Promise<StepAnswer> {
    if (this.#known.has(policy.id))
      return answerOf(await this.server.call('PUT', `/v1/policies/${policy.id}`, { body: policy }))
    this.nextPolicy.id = policy.id
    const answer = await this.server.call('POST', '/v1/policies', { body: policy })
    if (answer.status !== 201) return answerOf(answer)
    this.#known.add(policy.id)
    // A step creates or replaces, and its answer does not tell which.
    return { ...answerOf(answer), http: 200 }
  }

  #ask(step: Exclude<Extract<Step, { readonly ref: string }>, { readonly op: 'redeem' }>): Promise<Answer> {
    if (step.op === 'decide') {
      const { request, holder, idempotency_key: name } = step
      const body = { ...request, ...(holder !== undefined && { holder }) }
      const headers = name === undefined ? {} : { 'Idempotency-Key': name }
      return this.server.call('POST', '/v1/decisions', { key: this.keys.asker, body, headers })
    }
    const path = `/v1/decisions/${this.#decisions.get(step.ref) ?? NO_DECISION}`
    if (step.op === 'get') return this.server.call('GET', path, { key: this.keys.asker })
    const { op, ref, ...body } = step
    if (!('who' in body)) return this.server.call('POST', `${path}/${op}`, { key: this.keys[WHO[op]], body })
    const { who = 'asker', ...rest } = body
    return this.server.call('POST', `${path}/${op}`, { key: this.keys[who], body: rest })
  }

  #remember(ref: string, answer: Answer): StepAnswer {
    if (answer.status === 200) {
      this.#decisions.set(ref, answer.body.id)
      const { permit_token } = answer.body
      if (permit_token !== undefined) this.#permits.set(answer.body.id, permit_token)
    }
    return answerOf(answer)
  }

  async #redeem(ref: string): Promise<StepAnswer> {
    const id = this.#decisions.get(ref)
    if (id === undefined) return { http: 404, code: 'not_found' }
    const body = { permit_token: this.#permits.get(id) ?? 'none' }
    return answerOf(await this.server.call('POST', '/v1/permits/redeem', { key: this.keys.redeemer, body }))
  }
}

function answerOf({ status, body }: Answer): StepAnswer {
  return { http: status, ...body }
}
