import { MongoBulkWriteError, MongoNetworkError, MongoServerError } from 'mongodb'
import { expect, test, vi } from 'vitest'
import { StoreUnavailableError } from '../../../ports/store/errors.js'
import type { Database } from '../connection/database.js'
import type { AccountDocument } from '../stored.js'
import { replaceAccounts } from './account-write.js'

/** What becomes of the writes of two accounts that fail. */
function written(error: Error): Promise<readonly boolean[]> {
  const writes = ['a', 'b'].map((_id) => {
    const before = { _id, v: 1 } as AccountDocument
    return { before, after: { ...before, v: 2 } }
  })
  const accounts = { bulkWrite: vi.fn(() => Promise.reject(error)) }
  return replaceAccounts({ assertOpen() {}, accounts } as unknown as Database, writes)
}

test('writes whose answer is lost are to be looked at again', async () => {
  expect(await written(new MongoNetworkError('closed'))).toEqual([false, false])
  expect(await written(new MongoServerError({ code: 10107, codeName: 'NotWritablePrimary' }))).toEqual([false, false])
})

test('of several writes, the one that another was faster with is to be looked at again', async () => {
  const writeErrors = [{ code: 11000, index: 1 }]
  expect(await written(new MongoServerError({ code: 11000, writeErrors }))).toEqual([true, false])
})

test('a write that will never be taken fails at once', async () => {
  for (const code of [13, 10334]) {
    const refusal = new MongoServerError({ code })
    await expect(written(refusal)).rejects.toMatchObject({ name: StoreUnavailableError.name, cause: refusal })
  }
})

test('that one was late says nothing of the others when no majority may have them', async () => {
  const result = { getWriteConcernError: () => ({ code: 64 }) }
  const error = { message: 'late', code: 11000, writeErrors: [{ code: 11000, index: 1 }] }
  const refusal = new MongoBulkWriteError(error as never, result as never)
  await expect(written(refusal)).rejects.toMatchObject({ name: StoreUnavailableError.name, cause: refusal })
})
