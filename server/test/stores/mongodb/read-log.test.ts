/** A reader of a log never skips an entry that comes later at a lower index. */
import { randomBytes } from 'node:crypto'
import { afterEach, expect, it } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { MongoStore } from '#server/stores/mongodb/mongo-store'
import { createOf, decisionOf, LogPen, updateOf } from '../../store-suite/index.js'
import { LATER_MS, Processes } from './processes.js'
import { change } from './sabotages.js'

const processes = new Processes(`countersign-read-log-${randomBytes(6).toString('hex')}`)
afterEach(() => processes.end())

const read = async (store: MongoStore, log: string) =>
  (await store.audit.read(log, 0, 10)).map(({ index, type }) => `${index} ${type}`)

it('it ends before an index that has no entry yet, though later ones have', async () => {
  const { store, database } = await processes.start()
  const pen = await LogPen.of(store)
  await pen.commit(createOf(decisionOf(1)), createOf(decisionOf(2)), createOf(decisionOf(3)))
  const _id = `${pen.log}/1`
  const entry = await database.audit.findOneAndDelete({ _id })
  expect(await read(store, pen.log)).toEqual(['0 decision.created'])
  expect(await store.audit.read(pen.log, 1, 10)).toEqual([])
  if (entry !== null) await database.audit.insertOne(entry)
  expect(await read(store, pen.log)).toEqual([0, 1, 2].map((index) => `${index} decision.created`))
})

it('a group that a dead process left is read once it is finished, each index once', async () => {
  const dying = await processes.start()
  const pen = await LogPen.of(dying.store)
  for (const number of [1, 2]) await pen.commit(createOf(decisionOf(number)))
  // The first of the group is not committed, the second is. Neither entry is written.
  const died = () => Promise.reject(new StoreUnavailableError('It died.'))
  change(dying.database, 'audit', () => ({ insertMany: died }))
  change(dying.database, 'decisions', () => ({ insertMany: died }))
  await expect(pen.commit(createOf(decisionOf(3)), updateOf(decisionOf(1), {}))).rejects.toThrow('It died')

  const { store } = await processes.start()
  const committed = [0, 1].map((index) => `${index} decision.created`)
  expect(await read(store, pen.log)).toEqual(committed)
  processes.aheadMs = LATER_MS
  await store.recover()
  expect(await read(store, pen.log)).toEqual([...committed, '2 void', '3 decision.created'])
})
