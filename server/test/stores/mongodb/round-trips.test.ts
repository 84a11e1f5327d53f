/** The commands of one decision, as the table in the package's README states them. */
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { MongoStore } from '#server/stores/mongodb/mongo-store'
import { openMongoStore } from '#server/stores/mongodb/open'
import {
  accountOf,
  createOf,
  decisionOf,
  heldIn,
  idempotencyOf,
  idOf,
  instant,
  LogPen,
  requestOf,
} from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'
import { openRelay, type Relay } from './relay.js'
import { isWrite, WriteNames } from './relay-writes.js'

const NAME = `countersign-trips-${randomBytes(6).toString('hex')}`
const ACCOUNT = accountOf()

/** It waits for nobody, and comes whenever it is due. */
const BEHIND = 'update accounts: marks dropped'

const commands: string[] = []
let relay: Relay
let store: MongoStore
let pen: LogPen
beforeEach(async () => {
  const names = new WriteNames()
  relay = await openRelay(mongoUrl(NAME), (command) => {
    const { name, collection } = command
    commands.push(...(isWrite(command) ? names.of(command) : [`${name} ${collection}`]))
    return 'passes'
  })
  store = await openMongoStore({ url: relay.url })
  pen = await LogPen.of(store)
  // The first decision of an agent, and of a budget, takes more.
  await decide(1)
})
afterEach(async () => {
  await store.close()
  await relay.close()
  await dropDatabase(NAME)
})

/** As the server does it for a call with a key. */
async function decide(number: number, hasBudget = true): Promise<readonly string[]> {
  commands.length = 0
  const decision = decisionOf(number, { postings: hasBudget ? [heldIn(ACCOUNT, 5n)] : [] })
  const idempotency = idempotencyOf(decision.id, { key: `key-${number}` })
  let reservation: string | null = null
  if (hasBudget) {
    expect(await store.idempotency.get(idempotency, instant(0))).toBeNull()
    const demands = [{ account: ACCOUNT, amount: 5n, limit: 100n }]
    reservation = (await store.ledger.reserve({ decision_id: decision.id, version: 0, demands })).reservation
  }
  const change = createOf(decision, requestOf(number), reservation)
  expect(await pen.commit({ change, idempotency })).toEqual({ written: 1, conflict: null })
  return commands.filter((name) => name !== BEHIND)
}

const COMMIT = [
  'update logs: intents',
  'insert claims',
  'insert decisions: new',
  'insert audit: entry',
  'update sightings',
]

it('a decision without a budget takes five commands', async () => {
  expect(await decide(2, false)).toEqual(COMMIT)
})

it('a budget adds two commands', async () => {
  expect(await decide(2)).toEqual(['find claims', 'update accounts: reserved', ...COMMIT])
})

it('decisions that come together share their commands', async () => {
  commands.length = 0
  const together = [2, 3, 4].map((number) => {
    const account = accountOf({ policy_id: idOf('pol', number) })
    const decision = decisionOf(number, { postings: [heldIn(account, 5n)] })
    const demands = [{ account, amount: 5n, limit: 100n }]
    return { number, decision, demands, idempotency: idempotencyOf(decision.id, { key: `key-${number}` }) }
  })
  const reserved = await Promise.all(
    together.map(async ({ decision, demands, idempotency }) => {
      expect(await store.idempotency.get(idempotency, instant(0))).toBeNull()
      return store.ledger.reserve({ decision_id: decision.id, version: 0, demands })
    }),
  )
  const drafts = together.map(({ number, decision, idempotency }, i) => {
    const change = createOf(decision, requestOf(number), reserved[i]?.reservation as string)
    return { change, idempotency }
  })
  expect(await pen.commit(...drafts)).toEqual({ written: 3, conflict: null })
  const taken = ['find claims', 'find accounts', 'update accounts: reserved']
  expect(commands.filter((name) => name !== BEHIND)).toEqual([...taken, 'find decisions', ...COMMIT])
})
