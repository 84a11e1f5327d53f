/** An account's document stays small however many decisions hold something in it. */
import type { AccountKey } from '@countersign/contract'
import { until } from '@countersign/testkit'
import { BSON, type Collection, MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest'
import { accountId } from '#server/stores/mongodb/budgets/account-id'
import type { MongoStore } from '#server/stores/mongodb/mongo-store'
import { openMongoStore } from '#server/stores/mongodb/open'
import type { AccountDocument } from '#server/stores/mongodb/stored'
import { accountOf, createOf, decisionOf, heldIn, LogPen, requestOf } from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

const NAME = `countersign-growth-${process.pid}`
const [FEW, MANY] = [10, 10_000]
const GROUP = 250
const MIB = 1024 * 1024

const client = new MongoClient(mongoUrl(NAME))
let store: MongoStore
beforeEach(async () => {
  store = await openMongoStore({ url: mongoUrl(NAME) })
})
afterEach(async () => {
  await store.close()
  await dropDatabase(NAME)
})
afterAll(() => client.close())

const accountsOf = (name: string): Collection<AccountDocument> => client.db(name).collection('accounts')

interface Size {
  readonly bytes: number
  readonly marks: number
}

async function sizeOf(account: AccountKey): Promise<Size> {
  const found = (await accountsOf(NAME).findOne({ _id: accountId(account) })) as AccountDocument
  return { bytes: BSON.calculateObjectSize(found), marks: Object.keys(found.marks).length }
}

/** Its size once nothing is on its way any more. */
function restingSize(account: AccountKey): Promise<Size> {
  return until('the last mark to go', async () => {
    const size = await sizeOf(account)
    return size.marks === 0 ? size : undefined
  })
}

it(`with ${MANY} open holds the document is as large as with ${FEW}`, async () => {
  const pen = await LogPen.of(store)
  const account = accountOf()
  const postings = [heldIn(account, 1n)]
  /** The size after each group. */
  const sizes: Size[] = []
  let holds = 0
  const holdUntil = async (count: number): Promise<void> => {
    while (holds < count) {
      const decisions = [...Array(Math.min(GROUP, count - holds)).keys()].map(() => decisionOf(++holds, { postings }))
      const creates = await Promise.all(
        decisions.map(async (decision) => {
          const demands = [{ account, amount: 1n, limit: BigInt(MANY) }]
          const { reservation } = await store.ledger.reserve({ decision_id: decision.id, version: 0, demands })
          return createOf(decision, requestOf(1), reservation)
        }),
      )
      expect(await pen.commit(...creates)).toEqual({ written: creates.length, conflict: null })
      sizes.push(await sizeOf(account))
    }
  }
  await holdUntil(FEW)
  const few = await restingSize(account)
  await holdUntil(MANY)
  const many = await restingSize(account)
  expect(await store.ledger.balances([account])).toEqual([{ spent: 0n, reserved: BigInt(MANY) }])
  const refused = [{ account, amount: 1n, limit: BigInt(MANY) }]
  expect((await store.ledger.reserve({ decision_id: 'dec_x', version: 0, demands: refused })).reservation).toBeNull()

  // A few digits more.
  expect(many.bytes - few.bytes).toBeLessThan(16)
  // Marks are those of the groups on their way, whatever was held before.
  const most = (of: keyof Size) => Math.max(...sizes.map((size) => size[of]))
  console.log(
    `at rest ${few.bytes} and ${many.bytes} bytes; at most ${most('bytes')} bytes with ${most('marks')} marks`,
  )
  expect(most('marks')).toBeLessThanOrEqual(4 * GROUP)
  expect(most('bytes')).toBeLessThan(MIB)
})

it('what a dead server has reserved goes from an account that others write without a pause', async () => {
  const account = accountOf()
  const ask = (decision_id: string) =>
    store.ledger.reserve({ decision_id, version: 0, demands: [{ account, amount: 1n, limit: 1000n }] })
  const dead = await openMongoStore({ url: mongoUrl(NAME), nowMs: () => Date.now() - 60_000 })
  const demands = [{ account, amount: 500n, limit: 1000n }]
  await dead.ledger.reserve({ decision_id: 'dec_dead', version: 0, demands })

  let isOver = false
  const callers = [...Array(32).keys()].map(async (caller) => {
    for (let number = 0; !isOver; number += 1) {
      const { reservation } = await ask(`dec_${caller}-${number}`)
      await store.ledger.release(reservation as string)
    }
  })
  const other = await openMongoStore({ url: mongoUrl(NAME) })
  const of = { _id: accountId(account) }
  const isThere = async () =>
    Object.values((await accountsOf(NAME).findOne(of))?.marks ?? {}).some(({ decision }) => decision === 'dec_dead')
  expect(await isThere()).toBe(true)
  await until('its mark to go', async () => {
    await other.recover()
    return (await isThere()) ? undefined : true
  })
  isOver = true
  await Promise.all(callers)
  expect(await store.ledger.balances([account])).toEqual([{ spent: 0n, reserved: 0n }])
  for (const one of [dead, other]) await one.close()
})
