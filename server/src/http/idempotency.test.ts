import { expect, test } from 'vitest'
import type { StoredKey } from '../ports/store/documents.js'
import { StoreUnavailableError } from '../ports/store/errors.js'
import { CallInProgressError } from '../ports/store/ledger.js'
import { Idempotency } from './idempotency.js'
import type { Call, Route } from './route.js'

const call = { caller: { key: { id: 'key_1' } as StoredKey }, body: {} } as unknown as Call
const routeThat = (handle: Route['handle']): Route => ({
  method: 'POST',
  path: '/v1/x',
  name: 'x.make',
  summary: '',
  scopes: { all: [] },
  answer: { status: 200, description: '' },
  problems: [],
  replay: { present: () => Promise.reject(new Error('Nothing was recorded.')) },
  handle,
})
const idempotency = () => new Idempotency({ get: () => Promise.resolve(null) }, { now: () => new Date() })

test('copies that meet one in progress elsewhere wait for it, one after the other, and let all else go on', async () => {
  let met = 0
  const meets = routeThat(async () => {
    if (met < 4) {
      met += 1
      throw new CallInProgressError()
    }
    return { body: {} }
  })
  const calls = idempotency()
  const answers = await Promise.all([1, 2, 3].map(() => calls.once(meets, '/v1/x', 'k', call)))
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(met).toBe(4)
})

test('one that comes to no end is not waited for without end', async () => {
  const never = routeThat(() => Promise.reject(new CallInProgressError()))
  await expect(idempotency().once(never, '/v1/x', 'k', call)).rejects.toThrow(StoreUnavailableError)
})
