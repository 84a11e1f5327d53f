/** What the pipeline asks of memory that may be behind the store: at the beginning, after each wait, and before the answer. */

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { typeidIds } from '../adapters/typeid-ids.js'
import { generateKeyText, secretOf } from '../api-key-text.js'
import type { Moment } from '../concurrency/moment.js'
import { DomainError } from '../domain-error.js'
import type { StoredKey } from '../ports/store/documents.js'
import { ConfirmedFreshness } from '../state/freshness.js'
import { Keys } from '../state/keys.js'
import { Api } from './api.js'
import { bearerKeys } from './callers.js'
import { Idempotency } from './idempotency.js'
import { LongWork } from './long-work.js'
import { RateLimit } from './rate-limit.js'
import type { Answer, Reply } from './reply.js'
import type { Route } from './route.js'
import { UnreadAnswers } from './unread-answers.js'

const TEXT = generateKeyText()
const KEY: StoredKey = {
  id: 'key_1',
  version: 1,
  name: 'k',
  scopes: ['*'],
  agents: null,
  created_at: '2026-11-21T10:00:00.000Z',
  created_by: null,
  expires_at: null,
  revoked_at: null,
  secrets: [secretOf(TEXT)],
}

let now: { monotonicMs: number; wallMs: number }
let freshness: ConfirmedFreshness
let keys: Keys
let api: Api
/** The same, where a call may take no longer than 8 s. */
let hurried: Api
afterEach(() => {
  vi.useRealTimers()
})
beforeEach(() => {
  now = { monotonicMs: 0, wallMs: 0 }
  const moment = (): Moment => ({ ...now })
  freshness = new ConfirmedFreshness(moment)
  freshness.confirm(moment())
  keys = new Keys([KEY], new Map())
  const clock = { now: () => new Date() }
  const nowhere = { get: () => Promise.resolve(null) }
  const deps = {
    clock,
    ids: typeidIds(clock),
    log: { info: () => {}, warn: () => {}, error: () => {} },
    keys,
    freshness,
    rateLimit: new RateLimit(0),
    idempotency: new Idempotency(nowhere, clock),
    longWork: new LongWork(),
    unread: new UnreadAnswers(),
    answerMs: null,
  }
  api = new Api(deps)
  hurried = new Api({ ...deps, answerMs: 8000 })
})

const MADE: Reply = { status: 200, body: {} }
const plain = {
  method: 'GET',
  path: '/v1/x',
  name: 'x.get',
  summary: '',
  scopes: { all: [] },
  answer: { status: 200, description: '' },
  problems: [],
} as const

async function ask(
  asked: Route,
  body: () => Promise<string> = async () => '{}',
  by = api,
): Promise<Reply & Pick<Answer, 'keyId'>> {
  const { reply, keyId } = await by.answer(bearerKeys(keys), asked, {
    path: '/v1/x',
    params: {},
    query: '',
    headers: { authorization: `Bearer ${TEXT}`, 'content-type': 'application/json', 'content-length': '2' },
    body: async () => Buffer.from(await body()),
    isWanted: () => true,
    signal: () => new AbortController().signal,
    span: null,
  })
  return { ...reply, keyId }
}

/** Nothing runs for `ms`; changes of others during this time are taken over in the first moment after it. */
function freeze(ms: number, isChanged: boolean): void {
  now = { monotonicMs: now.monotonicMs + ms, wallMs: now.wallMs + ms }
  if (isChanged) freshness.changed()
  freshness.confirm({ ...now })
}

const during = (happens: () => void, reply: () => Reply = () => MADE): Route => ({
  ...plain,
  handle: async () => {
    happens()
    return reply()
  },
})
const refuse = (): Reply => {
  throw new DomainError('policy_denies')
}

test.each([
  ['nothing changed', () => freeze(60_000, false), 200],
  ['something changed less than 2 s after the last look', () => freeze(2000, true), 200],
  ['something changed 2 s ago or longer', () => freeze(2001, true), 503],
])('while an answer was made, %s', async (_, happens, status) => {
  expect((await ask(during(happens))).status).toBe(status)
})

test('a change waits for its turn as long as it takes: it rests on what the store held then', async () => {
  const change: Route = { ...during(() => freeze(60_000, true)), isChange: true }
  expect((await ask(change)).status).toBe(200)
})

test('what was recorded while it was so is told, however long its record took', async () => {
  const records: Route = {
    ...plain,
    handle: async ({ caller }) => {
      expect(caller.holds()).toBe(true)
      freeze(60_000, true)
      expect(caller.holds()).toBe(false)
      caller.recorded()
      return MADE
    },
  }
  expect((await ask(records)).status).toBe(200)
})

test('a refusal by what is no longer so is none', async () => {
  expect((await ask(during(() => {}, refuse))).status).toBe(409)
  expect((await ask(during(() => freeze(2001, true), refuse))).body).toMatchObject({ code: 'replica_stale' })
})

test('what the store could not do is told as that', async () => {
  const fail = (): Reply => {
    throw new DomainError('store_unavailable')
  }
  expect((await ask(during(() => freeze(2001, true), fail))).body).toMatchObject({ code: 'store_unavailable' })
})

test.each<[string, (happens: () => void) => Promise<Reply>]>([
  [
    'a body',
    (happens) => {
      const body = { schema: z.strictObject({}), maxBytes: 100, maxDepth: 2 }
      return ask({ ...plain, method: 'POST', body, handle: async () => MADE }, async () => {
        happens()
        return '{}'
      })
    },
  ],
  [
    'a wait',
    (happens) => {
      const longPoll = { ms: () => 1, wait: async () => happens() }
      return ask({ ...plain, longPoll, handle: async () => MADE })
    },
  ],
])(
  '%s may take as long as it wants: what counts is who calls in the end, and what is known then',
  async (_, answer) => {
    expect(await answer(() => freeze(60_000, true))).toMatchObject({ status: 200, keyId: 'key_1' })
    const sleep = () => {
      now.wallMs += 2001
    }
    expect((await answer(sleep)).body).toMatchObject({ code: 'replica_stale' })
    freeze(1, false)
    const revoke = () => keys.apply({ ...KEY, version: 2, revoked_at: '2026-11-21T10:00:01.000Z' })
    expect((await answer(revoke)).status).toBe(401)
  },
)

test('a long read whose turn comes late is refused when its key was revoked meanwhile', async () => {
  let letGo = (): void => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const long: Route = { ...during(() => {}), isLong: true, handle: async () => held.then(() => MADE) }
  const underWay = Array.from({ length: 4 }, () => ask(long))
  const late = ask({ ...during(() => {}), isLong: true })
  // Those that are in progress have begun.
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
  keys.apply({ ...KEY, revoked_at: '2026-11-21T10:00:00.000Z' })
  letGo()
  await Promise.all(underWay)
  expect((await late).status).toBe(401)
})

test('to wait for the turn of a long read is no fault of the store, and what comes too late is not begun', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const turns = async () => {
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
  }
  const letGo: (() => void)[] = []
  const long: Route = {
    ...during(() => {}),
    isLong: true,
    handle: () => new Promise((resolve) => letGo.push(() => resolve(MADE))),
  }
  const askInTime = () => ask(long, undefined, hurried)
  const underWay = [askInTime(), askInTime(), askInTime(), askInTime()]
  const next = askInTime()
  await turns()
  vi.advanceTimersByTime(7000)
  letGo[0]?.()
  await turns()
  const late = askInTime()
  await turns()
  vi.advanceTimersByTime(7000)
  letGo[4]?.()
  expect((await next).status).toBe(200)
  expect((await Promise.all(underWay)).map(({ status }) => status)).toEqual([200, 503, 503, 503])
  // The place that came free went to the one that still waited.
  await turns()
  const refused = [askInTime(), askInTime()]
  await turns()
  vi.advanceTimersByTime(8000)
  expect(await Promise.all(refused)).toMatchObject(Array(2).fill({ status: 429, headers: { 'Retry-After': '1' } }))
  expect((await late).status).toBe(503)
  for (const done of letGo) done()
  await turns()
  expect(letGo).toHaveLength(6)
})

test('the deadline of answers ends no answer of a route that is unbounded', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const letGo: (() => void)[] = []
  const slow: Route = { ...during(() => {}), handle: () => new Promise((resolve) => letGo.push(() => resolve(MADE))) }
  const answers = [ask(slow, undefined, hurried), ask({ ...slow, isUnbounded: true }, undefined, hurried)]
  while (letGo.length < 2) await new Promise(setImmediate)
  vi.advanceTimersByTime(60_000)
  expect((await answers[0])?.status).toBe(503)
  letGo[1]?.()
  expect((await answers[1])?.status).toBe(200)
})
