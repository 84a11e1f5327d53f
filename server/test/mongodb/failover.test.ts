/** The primary of a replica set steps down under load, and another member takes over: nothing is done twice. */
import { stress, until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { micro } from '../api/ledger-model/reference-money.js'
import { listAll } from '../process/call.js'
import type { ShippedServer } from '../process/shipped-server.js'
import { ReplicaSetRelay, STEP_DOWNS, type StepDown } from '../stores/mongodb/replica-set-relay.js'
import {
  newDatabase,
  POLICY,
  removeReplicas,
  settledAccounts,
  startReplica,
  writeSharedPolicy,
} from './replicas/replicas.js'

const CALLERS = 8
const AMOUNT = 7
/** Soon there is no room for more. */
const LIMIT = 300
/** The store does not answer, or for so long that this server does not know what others have changed. */
const REFUSALS = /^(store_unavailable|replica_stale)$/

let relay: ReplicaSetRelay
afterEach(async () => {
  await removeReplicas()
  await relay.close()
})

// biome-ignore lint/suspicious/noExplicitAny: answers are whatever JSON came; tests assert what they read of it
type Decision = any

/** Callers who each ask with one idempotency key until they are answered. */
class Load {
  readonly answered = new Map<string, Decision>()
  unavailable = 0
  private isOver = false
  private readonly runs: Promise<unknown>

  constructor(private readonly server: ShippedServer) {
    this.runs = Promise.all(Array.from({ length: CALLERS }, (_, caller) => this.call(caller)))
    // `end` tells of it.
    this.runs.catch(() => {})
  }

  async end(): Promise<void> {
    this.isOver = true
    await this.runs
  }

  ask(key: string) {
    const body = { agent_id: 'agent:payer', action: 'pay.create', context: { amount: AMOUNT } }
    return this.server.call('POST', '/v1/decisions', { body, headers: { 'Idempotency-Key': key } })
  }

  private async call(caller: number): Promise<void> {
    for (let asked = 0; !this.isOver; asked += 1) {
      const key = `${caller}-${asked}`
      const body = await until(`an answer to ${key}`, async () => {
        const answer = await this.ask(key)
        if (answer.status === 200) return answer.body
        expect([answer.status, answer.body.code]).toEqual([503, expect.stringMatching(REFUSALS)])
        this.unavailable += 1
        return undefined
      })
      this.answered.set(key, body)
    }
  }
}

/** The primary steps down in the middle of a write, and the other member is elected once this is so. */
async function failOver(how: StepDown, next: number, isLongEnough: () => boolean): Promise<void> {
  relay.stepDownAtWrite(how)
  await until('the step-down', () => !relay.hasPrimary || undefined)
  await until('the election', () => isLongEnough() || undefined)
  relay.elect(next)
}

it(`decisions are answered once or with 503, and count once, while a primary steps down ${STEP_DOWNS.length * stress.step_downs + 1} times`, async () => {
  const url = newDatabase()
  relay = await ReplicaSetRelay.open(url)
  const server = await startReplica({ url: relay.url })
  const policy = { ...POLICY, budget: { ...POLICY.budget, limit: LIMIT } }
  await writeSharedPolicy([server], policy)
  const load = new Load(server)
  let primary = 0
  const turn = async (how: StepDown, isLongEnough: (since: { refused: number; unavailable: number }) => boolean) => {
    const since = { refused: relay.refused, unavailable: load.unavailable }
    primary = 1 - primary
    await failOver(how, primary, () => isLongEnough(since))
    const { size } = load.answered
    await until('decisions on the new primary', () => load.answered.size >= size + 2 * CALLERS || undefined)
  }
  for (let round = 0; round < stress.step_downs; round += 1) for (const how of STEP_DOWNS) await turn(how, () => true)
  console.log(`${load.answered.size} answers over quick elections, ${load.unavailable} times 503`)
  await turn('interrupted', (since) => load.unavailable > since.unavailable)
  await load.end()
  console.log(`${load.answered.size} answers, ${load.unavailable} times 503, ${relay.refused} commands refused`)

  const answers = [...load.answered.values()]
  const decisions = await listAll(server.url, '/v1/decisions', server.key)
  expect(decisions.map(({ id }) => id).sort()).toEqual(answers.map(({ id }) => id).sort())
  const allowed = answers.filter(({ effect }) => effect === 'allow').length
  expect(allowed * AMOUNT).toBeLessThanOrEqual(LIMIT)
  expect(allowed).toBeGreaterThan(0)
  expect(answers.length).toBeGreaterThan(allowed)
  for (const key of [...load.answered.keys()].slice(0, 3 * CALLERS)) {
    const again = await load.ask(key)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.body.id).toBe(load.answered.get(key).id)
  }
  const entries = await listAll(server.url, '/v1/audit', server.key)
  const created = entries.filter(({ type }) => type === 'decision.created').map(({ subject }) => subject)
  expect(created.sort()).toEqual(answers.map(({ id }) => id).sort())
  expect((await server.stop()).code).toBe(0)
  const { stored, recomputed } = await settledAccounts(url)
  expect(stored).toEqual(recomputed)
  const [account] = Object.values(stored)
  expect(BigInt(account.spent) + BigInt(account.reserved)).toBe(micro(allowed * AMOUNT))
}, 120_000)
