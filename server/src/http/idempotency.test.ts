import type { StoredKey } from '@countersign/store-port/documents'
import { CallInProgressError } from '@countersign/store-port/ledger'
import { StoreUnavailableError } from '@countersign/store-port/store'
import { expect, test } from 'vitest'
import { Idempotency } from './idempotency.js'
import type { Call, Route } from './route.js'
import { route } from './route.js'

const call = { caller: { key: { id: 'key_1' } as StoredKey }, body: {} } as unknown as Call
const routeThat = (handle: Route['handle']): Route =>
  route({
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
const idempotency = () => new Idempotency({ findIdempotency: () => Promise.resolve(null) }, { now: () => new Date() })

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
