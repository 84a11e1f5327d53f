/** Accounts that other processes write all the time, while their decisions are settled. */
import { randomBytes } from 'node:crypto'
import type { AccountKey } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { MutationWriter } from '#server/mutation-writer'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { openMongoStore } from '#server/stores/mongodb/open'
import {
  accountOf,
  createOf,
  decisionOf,
  heldIn,
  idOf,
  LogPen,
  requestOf,
  spentIn,
  updateOf,
} from '../store-suite/index.js'
import { accountId, Database, MongoStore } from '../stores/mongodb/inside.js'
import { dropDatabase, mongoUrl } from '../stores/mongodb/open-mongo-store.js'
import { changeAccountWrites, NEVER } from '../stores/mongodb/sabotages.js'

const NAME = `countersign-busy-${randomBytes(6).toString('hex')}`
const [BUSY, CALM] = [accountOf({ policy_id: idOf('pol', 1) }), accountOf({ policy_id: idOf('pol', 2) })]

let database: Database
let store: MongoStore
/** The accounts that somebody else is always faster with. */
let busy: Set<string>

beforeEach(async () => {
  await (await openMongoStore({ url: mongoUrl(NAME) })).close()
  database = await Database.open(mongoUrl(NAME))
  busy = new Set()
  changeAccountWrites(database, ({ _id, v }) => ({ _id, v: busy.has(_id) ? NEVER : v }))
  store = new MongoStore(database, Date.now)
})
afterEach(async () => {
  await store.close()
  await dropDatabase(NAME)
})

/** A decision that holds 5 in an account. */
async function hold(number: number, account: AccountKey) {
  const decision = decisionOf(number, { postings: [heldIn(account, 5n)] })
  const demands = [{ account, amount: 5n, limit: 100n }]
  const { reservation } = await store.ledger.reserve({ decision_id: decision.id, version: 0, demands })
  return { decision, create: createOf(decision, requestOf(number), reservation) }
}

const confirmedFor = (account: AccountKey, spent: bigint) =>
  ({ status: 'confirmed', postings: [spentIn(account, 5n, spent)] }) as const

async function marksOf(account: AccountKey): Promise<number> {
  const found = await database.accounts.findOne({ _id: accountId(account) })
  return Object.keys(found?.marks ?? {}).length
}

it('a decision is not told of as settled before its account is, and nobody else waits for it', async () => {
  const pen = await LogPen.of(store)
  const [one, other] = [await hold(1, BUSY), await hold(2, CALM)]
  expect(await pen.commit(one.create, other.create)).toEqual({ written: 2, conflict: null })
  await until('the first marks to go', async () =>
    (await marksOf(BUSY)) + (await marksOf(CALM)) === 0 ? true : undefined,
  )

  busy.add(accountId(BUSY))
  expect(
    await pen.commit(updateOf(one.decision, confirmedFor(BUSY, 8n)), updateOf(other.decision, confirmedFor(CALM, 8n))),
  ).toEqual({ written: 2, conflict: null, unsettled: new Set([0]) })
  expect(await store.ledger.balances([CALM])).toEqual([{ spent: 8n, reserved: 0n }])
  await until('its mark to go', async () => ((await marksOf(CALM)) === 0 ? true : undefined))
  expect(await store.ledger.balances([BUSY])).toEqual([{ spent: 0n, reserved: 5n }])

  busy.clear()
  await until('the account to follow', async () => {
    const [balance] = await store.ledger.balances([BUSY])
    return balance?.spent === 8n && balance.reserved === 0n ? true : undefined
  })
  await until('the last mark to go', async () => ((await marksOf(BUSY)) === 0 ? true : undefined))
})

it('the caller that moved the decision is told that the outcome is not known', async () => {
  let entries = 0
  const ids = { next: (prefix: string) => idOf(prefix, ++entries) }
  const writer = new MutationWriter(store, ids, 60_000)
  const { decision, create } = await hold(1, BUSY)
  const write = (change: ReturnType<typeof updateOf> | typeof create) => {
    const { evaluated_at: at, id: subject, agent_id } = decision
    const entry = { at, type: 'decision.created', actor: null, subject, agent_id, data: {} } as const
    return writer.write({ entry, change, idempotency: null })
  }
  await write(create)
  busy.add(accountId(BUSY))
  await expect(write(updateOf(decision, confirmedFor(BUSY, 8n)))).rejects.toBeInstanceOf(StoreUnavailableError)
  expect((await store.decisions.get(decision.id))?.decision.status).toBe('confirmed')
})
