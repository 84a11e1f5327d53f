/** Following the audit log, on a clock that a test drives. */
import {
  answerJson,
  answerProblem,
  answerText,
  type StubDecisionPoint,
  startStubDecisionPoint,
} from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { AuditFollowQuery } from './follow-options.js'
import { followAudit } from './followed-audit.js'
import { HASHED_NAMES } from './hashed-names.js'
import { openNodeTransport } from './node-transport.js'
import { resolveOptions } from './options.js'
import type { Chance } from './requester.js'
import { StreamRequester } from './stream-requester.js'

const refusal = answerProblem(401, 'unauthorized')
const pageOf = (next_cursor: string | null, ...ids: readonly string[]) =>
  answerJson(200, { data: ids.map((id) => ({ id })), next_cursor })

describe('followAudit', () => {
  let stub: StubDecisionPoint
  let requester: StreamRequester
  let pauses: number[]
  beforeEach(async () => {
    stub = await startStubDecisionPoint(refusal)
    pauses = []
    const chance: Chance = {
      random: () => 0.5,
      now: () => 0,
      async wait(milliseconds, signal) {
        pauses.push(milliseconds)
        signal.throwIfAborted()
      },
    }
    const settings = resolveOptions('Countersign', { baseUrl: stub.url, apiKey: 'a-key', maxRetries: 0 }, {}, {})
    requester = new StreamRequester(
      settings,
      openNodeTransport({ connectTimeoutMs: 1_000, maxBytes: 1_000 }),
      HASHED_NAMES,
      chance,
    )
  })
  afterEach(() => {
    requester.close()
    return stub.close()
  })

  /** What is yielded until the stub refuses. */
  async function followed(query: AuditFollowQuery = {}, onRetry?: (fault: Error) => void) {
    const seen: string[] = []
    try {
      for await (const { data, next_cursor } of followAudit(requester, query, { onRetry }))
        seen.push(`${data.map(({ id }) => id)} ${next_cursor}`)
    } catch (error) {
      return { seen, error }
    }
    throw new Error('it ended by itself')
  }
  const asked = () => stub.requests.map(({ url }) => url)

  it('goes on behind each page, and looks again after a second when nothing came', async () => {
    stub.answer(pageOf('c1', 'aud_1', 'aud_2'), pageOf('c2'), pageOf('c2'), pageOf('c3', 'aud_3'), refusal)
    const { seen, error } = await followed({ type: 'key.created', after: 'c0' })
    expect(seen).toEqual(['aud_1,aud_2 c1', ' c2', 'aud_3 c3'])
    expect(error).toMatchObject({ code: 'unauthorized' })
    expect(pauses).toEqual([1_000])
    expect(asked()).toEqual(
      ['c0', 'c1', 'c2', 'c2', 'c3'].map((after) => `/v1/audit?order=asc&type=key.created&after=${after}`),
    )
  })

  it('tries again from the same place after faults that pass, less and less often, and says so', async () => {
    const down = [
      answerText(502, '<html>'),
      answerProblem(503, 'store_unavailable'),
      answerProblem(500, 'internal_error'),
    ]
    stub.answer(pageOf('c1', 'aud_1'), ...down, pageOf('c2', 'aud_2'), answerText(502, ''), refusal)
    const faults: string[] = []
    const { seen } = await followed({}, (fault) => faults.push(fault.name))
    expect(seen).toEqual(['aud_1 c1', 'aud_2 c2'])
    expect(faults).toEqual(['UnavailableError', 'ApiError', 'ApiError', 'UnavailableError'])
    expect(asked()).toEqual([
      '/v1/audit?order=asc',
      ...Array(4).fill('/v1/audit?order=asc&after=c1'),
      ...Array(2).fill('/v1/audit?order=asc&after=c2'),
    ])
    const [first = 0, second = 0, third = 0, afterwards] = pauses
    expect(second).toBeGreaterThan(first)
    expect(third).toBeGreaterThan(second)
    expect(afterwards).toBe(first)
  })

  it.each([
    ['a cursor that is refused', answerProblem(400, 'invalid_cursor'), { code: 'invalid_cursor' }],
    ['a key without the scope', answerProblem(403, 'insufficient_scope'), { code: 'insufficient_scope' }],
    ['an answer of a server that knows no order', pageOf(null, 'aud_1'), { kind: 'bad_answer' }],
    ['an answer that is no page', answerJson(200, { data: 1, next_cursor: 'c' }), { kind: 'bad_answer' }],
  ])('ends at %s', async (_what, answer, error) => {
    stub.answer(answer)
    expect(await followed()).toMatchObject({ seen: [], error })
  })

  it('ends with its signal, and with an error of its caller', async () => {
    const stop = new AbortController()
    stub.answer(pageOf('c1', 'aud_1'), pageOf('c2', 'aud_2'))
    for await (const page of followAudit(requester, {}, { signal: stop.signal })) {
      expect(page.next_cursor).toBe('c1')
      stop.abort()
    }
    stub.answer(answerProblem(503, 'store_unavailable'))
    const { error } = await followed({}, () => {
      throw new Error('enough')
    })
    expect(error).toMatchObject({ message: 'enough' })
  })

  it('ends with untilEnd when nothing came since', async () => {
    stub.answer(pageOf('c1', 'aud_1'), pageOf('c2'), pageOf('c2'))
    const cursors: string[] = []
    for await (const { next_cursor } of followAudit(requester, {}, { untilEnd: true })) cursors.push(next_cursor)
    expect(cursors).toEqual(['c1', 'c2'])
    expect(pauses).toEqual([])
  })

  it('ends with untilEnd in a log that never stops growing', async () => {
    const entryAt = (at: string, next_cursor: string) =>
      answerJson(200, { data: [{ id: next_cursor, at }], next_cursor })
    stub.answer(entryAt('2020-01-01T00:00:00.000Z', 'c1'), entryAt('2999-01-01T00:00:00.000Z', 'c2'))
    const cursors: string[] = []
    for await (const { next_cursor } of followAudit(requester, {}, { untilEnd: true })) cursors.push(next_cursor)
    expect(cursors).toEqual(['c1', 'c2'])
  })

  it('refuses an option that it does not know', async () => {
    const pages = followAudit(requester, {}, { onError: () => {} } as object)
    await expect(pages.next()).rejects.toThrow('onError is not an option of audit.follow')
  })
})
