/** A policy whose document somebody removed is missing alone: the list goes on behind it. */
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { Database } from '#server/stores/mongodb/connection/database'
import { openMongoStore } from '#server/stores/mongodb/open'
import { idOf, LogPen, policyOf, walk, writePolicyOf } from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

it('a page of policies goes on behind one whose document is gone', async () => {
  const name = `countersign-missing-${randomBytes(6).toString('hex')}`
  const store = await openMongoStore({ url: mongoUrl(name) })
  try {
    const pen = await LogPen.of(store)
    await pen.commit(...[1, 2, 3, 4].map((number) => writePolicyOf(policyOf(number, number))))
    const database = await Database.open(mongoUrl(name))
    await database.policies.deleteOne({ _id: `${idOf('pol', 3)}/1` })
    await database.close()
    const policies = await walk(2, (page) => store.policies.list(page))
    expect(policies.map(({ id }) => id)).toEqual([4, 2, 1].map((number) => idOf('pol', number)))
  } finally {
    await store.close()
    await dropDatabase(name)
  }
})
