/**
 * A kill between any two steps of a move: what was acknowledged is there, what the accounts hold is what the decisions add
 * up to, and the same call again moves the decision once.
 */
import { stress } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { call, listAll } from './call.js'
import { endChildren } from './child.js'
import { type DrivenServer, type KillPoint, startDriven } from './driven-server.js'
import { SEED, seededRandom } from './random.js'
import { readAccounts } from './recomputed-accounts.js'
import { CHOSEN_KEY, newDirectory, removeDirectories } from './shipped-server.js'
import { until } from './until.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const START = new Date('2026-11-21T10:00:00.000Z')
const STEPS = ['before', 'inside', 'after'] as const
const RESERVING = ['decide', 'approve']
const MOVES = {
  decide: { type: 'created', from: null, to: 'authorized', body: {} },
  confirm: { type: 'confirmed', from: 'authorized', to: 'confirmed', body: { amount: 7.25 } },
  reject: { type: 'rejected', from: 'authorized', to: 'rejected', body: {} },
  approve: { type: 'approved', from: 'awaiting_review', to: 'approved', body: {} },
  claim: { type: 'claimed', from: 'approved', to: 'authorized', body: { holder: 'one' } },
  correct: { type: 'corrected', from: 'confirmed', to: 'rejected', body: { result: 'rejected' } },
  expire: { type: 'expired', from: 'authorized', to: 'expired', body: {} },
} as const
type Move = keyof typeof MOVES

/** Every move with every place to die at. */
const PLACES = (Object.keys(MOVES) as Move[]).flatMap((move) => {
  const steps: KillPoint['step'][] = RESERVING.includes(move) ? ['reserve', ...STEPS] : [...STEPS]
  return steps.map((step) => ({ move, step }))
})

class Life {
  readonly dataDir = newDirectory()
  /** The status of each decision as it was acknowledged last. */
  readonly acknowledged = new Map<string, string>()
  nowMs = START.getTime()
  made = 0
  server: DrivenServer | null = null
  private asker = ''

  async begin(): Promise<void> {
    await this.start()
    const rules = [
      { action: 'pay.create', effect: 'allow', conditions: { 'context.amount': { $lte: 100 } } },
      { action: 'pay.create', effect: 'review' },
    ]
    const money = { limit: 1_000_000, unit: 'EUR', period: 'monthly' }
    const calls = { limit: 1_000_000, unit: 'calls', period: 'total', amount: 1 }
    for (const [name, budget] of Object.entries({ money, calls }))
      await this.post('/v1/policies', { name, rules, budget })
    this.asker = (await this.post('/v1/keys', { name: 'asker', scopes: ['decisions:write'] })).key
  }

  async start(): Promise<void> {
    this.server = await startDriven({ dataDir: this.dataDir, now: new Date(this.nowMs) })
  }

  /** A call that is answered. */
  async post(path: string, body: object, name?: string) {
    const answer = await this.send(path, body, name)
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300)
    return answer.body
  }

  send(path: string, body: object, name = `call-${this.made++}`) {
    const isAdmins = /policies|keys|approve|correct/.test(path)
    const key = isAdmins ? CHOSEN_KEY : this.asker
    const { url } = this.server as DrivenServer
    return call(url, 'POST', path, { key, body, headers: { 'Idempotency-Key': name } })
  }

  /** A decision in the status that a move begins at. */
  async prepare(from: string): Promise<string> {
    const isReviewed = from === 'awaiting_review' || from === 'approved'
    const { id } = await this.post('/v1/decisions', this.request(isReviewed ? 400 : 10))
    if (from === 'approved') await this.post(`/v1/decisions/${id}/approve`, {})
    if (from === 'confirmed') await this.post(`/v1/decisions/${id}/confirm`, { amount: 12.5 })
    this.acknowledged.set(id, from)
    return id
  }

  request(amount: number): object {
    return { agent_id: 'agent:a', action: 'pay.create', context: { amount, marker: this.made++ } }
  }

  get(id: string) {
    return (this.server as DrivenServer).call('GET', `/v1/decisions/${id}`).then(({ body }) => body)
  }

  expectAccounts(): void {
    const { stored, recomputed } = readAccounts(this.dataDir)
    expect(stored).toEqual(recomputed)
  }

  async expectAcknowledged(): Promise<void> {
    for (const [id, status] of this.acknowledged) expect((await this.get(id)).status, id).toBe(status)
  }
}

async function dieAt(life: Life, move: Move, step: KillPoint['step'], delayMs: number): Promise<void> {
  const { type, from, to, body } = MOVES[move]
  const id = from === null ? null : await life.prepare(from)
  const path = id === null ? '/v1/decisions' : `/v1/decisions/${id}/${move}`
  const sent = id === null ? life.request(20) : body
  const name = `killed-${life.made++}`
  const server = life.server as DrivenServer
  await server.killAt({ type: `decision.${type}`, step, delay_ms: delayMs })
  if (id !== null) life.acknowledged.delete(id)
  if (move === 'expire') {
    life.nowMs += 300_000
    // Everything else that was authorized ends in the same breath.
    for (const [other, status] of life.acknowledged)
      if (status === 'authorized') life.acknowledged.set(other, 'expired')
    await server.setTime(new Date(life.nowMs)).catch(() => {})
  } else await expect(life.send(path, sent, name)).rejects.toThrow()
  expect(await server.end()).toEqual({ code: null, signal: 'SIGKILL' })

  await life.start()
  life.expectAccounts()
  const found = id === null ? null : (await life.get(id)).status
  if (move !== 'expire' && id !== null)
    expect(step === 'inside' ? [from, to] : [step === 'after' ? to : from]).toContain(found)
  await life.expectAcknowledged()

  const settled = move === 'expire' ? await expired(life, id as string) : await life.post(path, sent, name)
  expect(settled.status).toBe(to)
  if (id !== null) expect(settled.id).toBe(id)
  else
    expect(
      (await listAll((life.server as DrivenServer).url, '/v1/decisions', CHOSEN_KEY)).filter(
        ({ context }) => context.marker === (sent as { context: { marker: number } }).context.marker,
      ),
    ).toHaveLength(1)
  const entries = await listAll((life.server as DrivenServer).url, `/v1/audit?decision_id=${settled.id}`, CHOSEN_KEY)
  expect(entries.filter((entry) => entry.type === `decision.${type}`)).toHaveLength(1)
  life.acknowledged.set(settled.id, to)
  life.expectAccounts()
}

/** Once the end is written. */
function expired(life: Life, id: string) {
  const { url } = life.server as DrivenServer
  return until('the end of the decision in the log', async () => {
    const entries = await listAll(url, `/v1/audit?decision_id=${id}&type=decision.expired`, CHOSEN_KEY)
    return entries.length > 0 ? life.get(id) : undefined
  })
}

it(`keeps accounts and decisions together, killed ${stress.settle_kills} times`, async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const drawn = PLACES.map((place) => ({ place, at: random() }))
  const places = drawn.sort((a, b) => a.at - b.at).map(({ place }) => place)
  const life = new Life()
  await life.begin()
  for (let kill = 0; kill < stress.settle_kills; kill += 1) {
    const { move, step } = places[kill % places.length] as (typeof PLACES)[number]
    const delayMs = random() * 3
    await dieAt(life, move, step, delayMs).catch((fault: Error) => {
      throw new Error(`killed at ${move}, ${step} (${delayMs.toFixed(2)} ms): ${fault.message}`, { cause: fault })
    })
  }
  console.log(`${life.acknowledged.size} decisions`)
})
