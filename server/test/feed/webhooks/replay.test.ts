import { expect, it } from 'vitest'
import { KeyedMutex } from '#server/concurrency/keyed-mutex'
import type { IdempotencyRecord } from '#server/ports/store/documents'
import { StoreUnavailableError } from '#server/ports/store/errors'
import { replayWebhook } from '#server/use-cases/webhooks/replay'
import { bedOf, CREATED } from './test-bed.js'

it('is begun once for all copies of a call, also when the call cannot be recorded at first', async () => {
  const bed = await bedOf()
  const { id } = await bed.addWebhook('https://example.com/hook', { events: CREATED })
  const since = bed.clock.text()
  const recorded: IdempotencyRecord[] = []
  let isAway = true
  const writer = {
    async writeCall(record: IdempotencyRecord) {
      if (isAway) throw new StoreUnavailableError('The store is away.')
      recorded.push(record)
    },
  }
  const call = (key: string) => {
    const named = { key_id: 'key_1', operation: 'webhooks.replay', key, fingerprint: '', status: 202 }
    const recordOf = (subject: string, now: string) => ({ ...named, subject, created_at: now, expires_at: now })
    return { caller: { key: { id: 'key_1' } } as never, idempotency: { recordOf, assertNew: async () => {} } }
  }
  const deps = { clock: bed.clock, store: bed.store, writer, changes: new KeyedMutex() } as never
  const replay = (key: string) => {
    bed.clock.advance(1000)
    return replayWebhook(deps, call(key), id, { since })
  }
  await expect(replay('once')).rejects.toThrow('The store is away.')
  await expect(replay('once')).rejects.toThrow('The store is away.')
  const begun = await bed.feed.readers.list('replay/')
  expect(begun).toHaveLength(1)
  isAway = false
  const started = await replay('once')
  expect(begun[0]).toContain(`replay/${id}/${started.since}/${started.until}/`)
  expect(recorded.map(({ subject }) => subject)).toEqual(begun)
  await replay('twice')
  expect(await bed.feed.readers.list('replay/')).toHaveLength(2)
})
