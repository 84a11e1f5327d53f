/** `countersign migrate` killed at random places and taken up again: nothing is lost, nothing is there twice. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SEED, seededRandom, stress, until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { call, listAll } from '../process/call.js'
import { CHOSEN_KEY, countersign, newDirectory, ShippedServer } from '../process/shipped-server.js'
import { type Command, openRelay, type Relay } from '../stores/mongodb/relay.js'
import { ISSUER, newDatabase, removeReplicas } from './replicas/replicas.js'

let relay: Relay | null = null
afterEach(async () => {
  await relay?.close()
  relay = null
  await removeReplicas()
})

const CALLERS = 24
/** The most proofs and repeated calls that are checked. The records of all decisions are. */
const MOST_CHECKED = 500
/** Commands before a kill, besides those that make indexes: the move needs more. */
const MOST_COMMANDS = 40
const ENV = { ISSUER, DECISION_TTL_SECONDS: '3600' }

interface Asked {
  readonly name: string
  readonly body: object
  readonly id: string
}

/** Decides, and leaves a third open. */
async function fill(server: ShippedServer): Promise<readonly Asked[]> {
  const rules = [{ action: 'pay.create', effect: 'allow' }]
  const budget = { limit: 1_000_000_000, unit: 'EUR', period: 'total', scope: 'agent' }
  expect((await server.call('POST', '/v1/policies', { body: { name: 'pay', rules, budget } })).status).toBe(201)
  const asked: Asked[] = []
  let number = 0
  const caller = async () => {
    while (number < stress.moved_decisions) {
      const name = `call-${number}`
      const body = { agent_id: `agent:${number % 7}`, action: 'pay.create', context: { amount: (number % 90) + 0.25 } }
      number += 1
      const answer = await server.call('POST', '/v1/decisions', { body, headers: { 'Idempotency-Key': name } })
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      const { id } = answer.body
      asked.push({ name, body, id })
      const verb = [null, 'confirm', 'reject'][number % 3]
      if (verb !== null) await server.call('POST', `/v1/decisions/${id}/${verb}`, { body: {} })
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  return asked
}

const balances = async ({ url }: ShippedServer) =>
  (await listAll(url, '/v1/budgets', CHOSEN_KEY)).map(({ as_of: _, ...budget }) => budget)

it('ends with equal balances, proofs and answers to repeated calls', async () => {
  console.log(`SEED=${SEED}`)
  const random = seededRandom(SEED)
  const dataDir = newDirectory()
  const before = await ShippedServer.start({ dataDir, env: ENV })
  const asked = await fill(before)
  const known = await balances(before)
  const jwks = join(newDirectory(), 'jwks')
  writeFileSync(jwks, JSON.stringify((await call(before.url, 'GET', '/.well-known/jwks.json')).body))
  const every = Math.max(1, Math.floor(asked.length / MOST_CHECKED))
  const checked = asked.filter((_, i) => i % every === 0)
  const proofOf = async (server: ShippedServer, { id }: Asked) =>
    (await server.call('GET', `/v1/audit/proof?decision_id=${id}`)).body
  const entries = await Promise.all(checked.map(async (one) => (await proofOf(before, one)).entry))
  await before.stop()

  const url = newDatabase()
  let onCommand: (command: Command) => void = () => {}
  relay = await openRelay(url, (command) => {
    onCommand(command)
    return 'passes'
  })
  const env = { DATA_DIR: dataDir, MONGODB_URL: relay.url }
  const killed: string[] = []
  /** Runs the command, and kills it at the first of its commands that `isIt`. */
  const runUntil = async (isIt: (command: Command) => boolean) => {
    const child = countersign(['migrate'], { env })
    onCommand = (command) => {
      if (!isIt(command)) return
      onCommand = () => {}
      child.process.kill('SIGKILL')
      killed.push(`${command.name} ${command.collection}`)
    }
    const ending = await child.end(600_000)
    return { ...ending, said: child.stderr }
  }
  for (let kill = 0; kill < stress.move_kills; kill += 1) {
    let left = 1 + Math.floor(random() * MOST_COMMANDS)
    const ended = await runUntil(
      ({ name, collection }) => collection !== '' && name !== 'createIndexes' && --left === 0,
    )
    expect(ended, ended.said).toMatchObject({ signal: 'SIGKILL' })
    if (kill > 1) continue
    const store = kill === 0 ? {} : { MONGODB_URL: url }
    const refused = countersign(['serve'], { env: { ...ENV, PORT: '0', DATA_DIR: dataDir, ...store } })
    expect((await refused.end()).code).toBe(1)
    expect(refused.stderr).toMatch(/move (is|that is) not complete/)
  }
  // The database is complete, and DATA_DIR does not know that yet.
  const isCompletion = (command: Command) =>
    command.collection === 'meta' && JSON.stringify(command.read()).includes('"completed"')
  expect(await runUntil(isCompletion)).toMatchObject({ signal: 'SIGKILL' })
  console.log(`killed at ${killed.join(', ')}`)
  const last = await runUntil(() => false)
  expect(last, last.said).toMatchObject({ code: 0 })

  const after = await ShippedServer.start({ dataDir, env: { ...ENV, MONGODB_URL: url } })
  expect(await balances(after)).toEqual(known)
  expect(await Promise.all(checked.map(async (one) => (await proofOf(after, one)).entry))).toEqual(entries)
  for (const { body, name, id } of checked) {
    const again = await until(`an answer to ${name}`, async () => {
      const answer = await after.call('POST', '/v1/decisions', { body, headers: { 'Idempotency-Key': name } })
      return answer.status === 503 ? undefined : answer
    })
    expect([again.status, again.body.id], name).toEqual([200, id])
  }
  await after.stop()
  const verified = countersign(['audit', 'verify', '--records', '--offline', '--jwks', jwks], {
    env: { DATA_DIR: dataDir, MONGODB_URL: url },
  })
  await verified.end(3_600_000)
  expect(verified.stdout).toMatch(/^Intact/)
})
