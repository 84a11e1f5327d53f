/** A process that was taken for dead, and goes on. */

import { afterEach, expect, it } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { createOf, decisionOf, idOf, LogPen } from '../../store-suite/index.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

const NAME = `countersign-log-taken-${process.pid}`
afterEach(() => dropDatabase(NAME))

it('writes nothing into a log that another process has taken, and goes on in a log of its own', async () => {
  const store = await openMongoStore({ url: mongoUrl(NAME) })
  const other = await openMongoStore({ url: mongoUrl(NAME), nowMs: () => Date.now() + 120_000 })
  const pen = await LogPen.of(store)
  expect(await pen.commit(createOf(decisionOf(1)))).toEqual({ written: 1, conflict: null })
  await other.recover(0)
  await other.openLog()
  expect(await pen.commit(createOf(decisionOf(2)))).toEqual({ written: 0, conflict: 'log_index' })
  expect(await store.decisions.get(idOf('dec', 2))).toBeNull()
  const next = await LogPen.of(store)
  expect(next.log).not.toBe(pen.log)
  expect(await next.commit(createOf(decisionOf(2)))).toEqual({ written: 1, conflict: null })
  await store.close()
  await other.close()
})
