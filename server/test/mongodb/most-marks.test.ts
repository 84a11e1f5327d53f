/** What is in progress in one account has a bound: beyond it the budget is busy. */

import { until } from '@countersign/testkit'
import { BSON, type Document, MongoClient } from 'mongodb'
import { afterAll, expect, it } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { databaseOf } from '../open-test-store.js'
import { runServer } from '../running-server.js'
import { mongoUrl } from '../stores/mongodb/open-mongo-store.js'

/** Of one account, at a time. */
const MOST_MARKS = 2000
const MIB = 1024 * 1024

const client = new MongoClient(mongoUrl('admin'))
afterAll(() => client.close())

it(`with ${MOST_MARKS} on their way the account is busy, until they are recovered`, async () => {
  const server = await runServer()
  try {
    const rules = [{ action: 'pay.create', effect: 'allow' }]
    const budget = { limit: 100_000, unit: 'EUR', period: 'total' }
    const { id } = (await server.call('POST', '/v1/policies', { body: { name: 'p', rules, budget } })).body
    const decide = () =>
      server.call('POST', '/v1/decisions', {
        body: { agent_id: 'agent:a', action: 'pay.create', context: { amount: 1 } },
      })
    expect((await decide()).body).toMatchObject({ effect: 'allow', reason_code: 'rule_matched' })
    const accounts = client.db(databaseOf(server.dataDir)).collection('accounts')
    const of = { policy_id: id }
    await until('the mark of the first to go', async () =>
      (await accounts.findOne({ ...of, marked_ms: null })) === null ? undefined : true,
    )

    // As servers leave it that died between what they reserved and their records.
    const at_ms = Date.now() - 60_000
    const lost = (i: number) => ({
      decision: `dec_lost-${i}`,
      attempt: `lost-${i}`,
      rev: null,
      spent: '0',
      reserved: '1000000',
      n: 0,
      at_ms,
    })
    const marks = Object.fromEntries([...Array(MOST_MARKS).keys()].map((i) => [`lost-${i}`, lost(i)]))
    const reserved = String(1_000_000n * BigInt(1 + MOST_MARKS))
    const left = await accounts.findOneAndUpdate(
      of,
      { $set: { marks, reserved, marked_ms: at_ms }, $inc: { v: 1 } },
      { returnDocument: 'after' },
    )
    expect(BSON.calculateObjectSize(left as Document)).toBeLessThan(MIB)

    const busy = await decide()
    expect(busy.status).toBe(503)
    expect(busy.body.code).toBe('budget_busy')
    expect(busy.headers.get('retry-after')).toBe('1')

    const other = await openMongoStore({ url: mongoUrl(databaseOf(server.dataDir)) })
    await other.recover()
    await other.close()
    expect((await decide()).body).toMatchObject({ effect: 'allow', reason_code: 'rule_matched' })
    expect(await accounts.findOne(of)).toMatchObject({ spent: '0', reserved: '2000000' })
    expect((await server.call('GET', `/v1/policies/${id}/budget`)).body.data).toMatchObject([{ reserved: 2 }])
  } finally {
    await server.stop()
  }
})
