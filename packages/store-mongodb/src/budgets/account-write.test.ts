import { StoreUnavailableError } from '@countersign/store-port/store'
import { MongoNetworkError, MongoServerError } from 'mongodb'
import { expect, test, vi } from 'vitest'
import type { Database } from '../connection/database.js'
import type { AccountDocument } from '../stored.js'
import { replaceAccount } from './account-write.js'

/** What becomes of a write that fails. */
function written(error: Error): Promise<boolean> {
  const account = { _id: 'a', v: 1 } as AccountDocument
  const accounts = { updateOne: vi.fn(() => Promise.reject(error)) }
  return replaceAccount({ assertOpen() {}, accounts } as unknown as Database, account, { ...account, v: 2 })
}

test('a write whose answer is lost, or that another was faster with, is to be looked at again', async () => {
  expect(await written(new MongoNetworkError('closed'))).toBe(false)
  expect(await written(new MongoServerError({ code: 11000 }))).toBe(false)
  expect(await written(new MongoServerError({ code: 10107, codeName: 'NotWritablePrimary' }))).toBe(false)
})

test('a write that will never be taken fails at once', async () => {
  for (const code of [13, 10334]) {
    const refusal = new MongoServerError({ code })
    await expect(written(refusal)).rejects.toMatchObject({ name: StoreUnavailableError.name, cause: refusal })
  }
})
