import { until } from '@countersign/testkit'
import { expect } from 'vitest'
import { type Answer, call, listAll } from './call.js'
import { type DrivenServer, startDriven } from './driven-server.js'
import { readAccounts } from './recomputed-accounts.js'
import { CHOSEN_KEY, newDirectory } from './shipped-server.js'

const OPEN = ['authorized', 'awaiting_review', 'approved']

/** A data directory, the server of the moment on it, and what that one's callers were told of their decisions. */
export class DecisionLife {
  private readonly dataDir = newDirectory()
  /** Each decision as it was acknowledged last. */
  private readonly acknowledged = new Map<string, { readonly status: string; readonly expires_at: string }>()
  private nowMs = Date.parse('2026-11-21T10:00:00.000Z')
  private numbers = 0
  private asker = ''
  private running: DrivenServer | null = null

  get server(): DrivenServer {
    if (this.running === null) throw new Error('No server was started.')
    return this.running
  }

  /** Allows up to 100 and asks a person beyond, with a budget that reads the amount and one that counts. */
  async begin(): Promise<void> {
    await this.restart()
    const conditions = { 'context.amount': { $lte: 100 } }
    const rules = [
      { action: 'pay.create', effect: 'allow', conditions },
      { action: 'pay.create', effect: 'review' },
    ]
    const money = { limit: 1_000_000, unit: 'EUR', period: 'monthly' }
    const calls = { limit: 1_000_000, unit: 'calls', period: 'total', amount: 1 }
    for (const [name, budget] of Object.entries({ money, calls }))
      await this.post('/v1/policies', { name, rules, budget })
    this.asker = (await this.post('/v1/keys', { name: 'asker', scopes: ['decisions:write'] })).key
  }

  async restart(): Promise<void> {
    this.running = await startDriven({ dataDir: this.dataDir, now: new Date(this.nowMs) })
  }

  /** Past the end of what was authorized by now. */
  async passEnd(): Promise<void> {
    this.nowMs += 300_000
    await this.server.setTime(new Date(this.nowMs))
  }

  newName(): string {
    return `name-${this.numbers++}`
  }

  /** A call with a key that may make it. Rejects when no answer comes. */
  send(path: string, body: object, name = this.newName()): Promise<Answer> {
    const key = /policies|keys|approve|correct/.test(path) ? CHOSEN_KEY : this.asker
    return call(this.server.url, 'POST', path, { key, body, headers: { 'Idempotency-Key': name } })
  }

  /** A call that has to succeed; a decision that it answers is acknowledged. */
  async post(path: string, body: object, name?: string): Promise<Answer['body']> {
    const answer = await this.send(path, body, name)
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300)
    const { id, status, expires_at } = answer.body
    if (path.startsWith('/v1/decisions')) this.acknowledged.set(id, { status, expires_at })
    return answer.body
  }

  /** A request whose context no other one has. */
  request(amount: number): { readonly agent_id: string; readonly action: string; readonly context: object } {
    return { agent_id: 'agent:a', action: 'pay.create', context: { amount, marker: this.newName() } }
  }

  /** A new decision in this status. */
  async prepare(status: string): Promise<string> {
    const isReviewed = status === 'awaiting_review' || status === 'approved'
    const { id } = await this.post('/v1/decisions', this.request(isReviewed ? 400 : 10))
    if (status === 'approved') await this.post(`/v1/decisions/${id}/approve`, {})
    if (status === 'confirmed') await this.post(`/v1/decisions/${id}/confirm`, { amount: 12.5 })
    return id
  }

  async statusOf(id: string): Promise<string> {
    return (await this.server.call('GET', `/v1/decisions/${id}`)).body.status
  }

  list(path: string): Promise<Answer['body'][]> {
    return listAll(this.server.url, path, CHOSEN_KEY)
  }

  /** The entries of a decision of this type, once there is one. */
  entries(id: string, type: string): Promise<Answer['body'][]> {
    return until(`an entry ${type} of ${id}`, async () => {
      const found = await this.list(`/v1/audit?decision_id=${id}&type=${type}`)
      return found.length > 0 ? found : undefined
    })
  }

  /** Everything is as it was acknowledged, or as the clock made it; but for one decision that may have moved. */
  async expectAcknowledged(except: string | null): Promise<void> {
    for (const [id, { status, expires_at }] of this.acknowledged) {
      const isOver = OPEN.includes(status) && this.nowMs >= Date.parse(expires_at)
      if (id !== except) expect(await this.statusOf(id), id).toBe(isOver ? 'expired' : status)
    }
  }

  /** What is stored of the accounts is what the decisions add up to. */
  expectBalance(): void {
    const { stored, recomputed } = readAccounts(this.dataDir)
    expect(stored).toEqual(recomputed)
  }
}
