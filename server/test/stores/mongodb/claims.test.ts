/** Two processes find a name of a call that was claimed for nothing, and one overtakes the other. */

import { afterEach, beforeEach, expect, it } from 'vitest'
import { Database } from '#server/stores/mongodb/connection/database'
import { MongoStore } from '#server/stores/mongodb/mongo-store'
import { claimOf } from '#server/stores/mongodb/records/claims'
import { createOf, decisionOf, idempotencyOf, idOf, LogPen } from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'
import { change } from './sabotages.js'

const NAME = `countersign-claims-${process.pid}`

let databases: readonly Database[]
beforeEach(async () => {
  databases = [await Database.open(mongoUrl(NAME)), await Database.open(mongoUrl(NAME))]
})
afterEach(async () => {
  await Promise.all(databases.map((database) => database.close()))
  await dropDatabase(NAME)
})

it('a claim that came into the place of one without a record is not taken for it', async () => {
  const [slow, fast] = databases as [Database, Database]
  const never = decisionOf(1)
  const place = { log: 'gone', index: 0, entry_id: idOf('aud', 1) }
  const abandoned = claimOf(idempotencyOf(never.id), place, { kind: 'decision', id: never.id })
  await slow.claims.insertOne(abandoned)

  const pens = [await LogPen.of(new MongoStore(slow, Date.now)), await LogPen.of(new MongoStore(fast, Date.now))]
  const drafts = [2, 3].map((number) => {
    const decision = decisionOf(number)
    return {
      change: createOf(decision),
      idempotency: idempotencyOf(decision.id),
      entry: { id: idOf('aud', number) },
    }
  })
  let looks = 0
  change(slow, 'logs', (own) => ({
    findOne: async (...parameters: never[]) => {
      const found = await own.findOne(...(parameters as unknown as [never]))
      looks += 1
      // The slow one has found that its claim clashes, and looks whether the other counts.
      if (looks === 1) expect(await pens[1]?.commit(drafts[1] as never)).toMatchObject({ conflict: null })
      return found
    },
  }))
  expect(await pens[0]?.commit(drafts[0] as never)).toMatchObject({ written: 0, conflict: 'idempotency_key' })
  expect(looks).toBeGreaterThan(1)
  const found = await pens[0]?.store.idempotency.get(idempotencyOf(''), '2026-11-21T10:00:00.000Z')
  expect(found?.subject).toBe(decisionOf(3).id)
  expect(await pens[0]?.store.decisions.get(decisionOf(2).id)).toBeNull()
})
