/** A decision that is removed leaves nothing in an account that would be given back later. */
import {
  accountOf,
  createOf,
  DAY,
  decisionOf,
  heldIn,
  instant,
  LogPen,
  spentIn,
  updateOf,
} from '@countersign/testkit/store-suite'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { MongoStore } from '#server/adapters/store-mongodb/mongo-store'
import { openMongoStore } from '#server/adapters/store-mongodb/open'
import { until } from '../process/until.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

const NAME = `countersign-removal-${process.pid}`

let store: MongoStore
beforeEach(async () => {
  store = await openMongoStore({ url: mongoUrl(NAME) })
})
afterEach(async () => {
  await store.close()
  await dropDatabase(NAME)
})

it('the marks of reservations and settlements go with the decision, what it counted for stays', async () => {
  const pen = await LogPen.of(store)
  const account = accountOf()
  const decisions = [
    decisionOf(1, { postings: [heldIn(account, 10n)] }),
    decisionOf(2, { postings: [heldIn(account, 5n)] }),
  ]
  for (const decision of decisions) {
    const demands = [{ account, amount: BigInt(decision.postings[0]?.amount ?? 0), limit: 100n }]
    const { reservation } = await store.ledger.reserve({ decision_id: decision.id, version: 0, demands })
    await pen.commit(createOf(decision, undefined, reservation))
    const [{ amount } = { amount: '0' }] = decision.postings
    const settled = updateOf(decision, { status: 'confirmed', postings: [spentIn(account, BigInt(amount), 4n)] })
    await pen.commit(settled)
    await until('the removal', async () =>
      (await store.removeDecisions([settled.decision], instant(DAY))) === 1 ? true : undefined,
    )
    expect(await store.findDecision(decision.id)).toBeNull()
  }
  const sum = { spent: '8', reserved: '0' }
  expect(await store.readAccounts([account])).toMatchObject([sum])
  await store.recover(0)
  expect(await store.readAccounts([account])).toMatchObject([sum])
  expect(await store.ledger.balances([account])).toEqual([{ spent: 8n, reserved: 0n }])
  expect((await store.openLog()).next_index).toBe(4)
})
