/** Lists that look for long: each page has its end, and nobody who decides waits for them. */
import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { PageRequest } from '#server/ports/store/page'
import type { Store } from '#server/ports/store/store'
import { Database, READ_LIMIT_MS } from '#server/stores/mongodb/connection/database'
import { openMongoStore } from '#server/stores/mongodb/open'
import { createOf, decisionOf, idOf, instant, LogPen } from '../../store-suite/index.js'
import { relayTo } from './holding-relay.js'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

const NAME = `countersign-lists-${randomBytes(6).toString('hex')}`
const DECISIONS = 3000
/** The only ones of their agent: the oldest, and one in between. */
const RARE = [1, 1700]
const FILTER = { agents: ['agent:rare'], now: instant(0) }
const FIRST: PageRequest = { limit: 50, after: null }

let store: Store
beforeAll(async () => {
  store = await openMongoStore({ url: mongoUrl(NAME) })
  const pen = await LogPen.of(store)
  const numbers = Array.from({ length: DECISIONS }, (_, i) => i + 1)
  const decisions = numbers.map((number) =>
    createOf(decisionOf(number, { agent_id: RARE.includes(number) ? 'agent:rare' : 'agent:often' })),
  )
  for (let done = 0; done < DECISIONS; done += 500) await pen.commit(...decisions.slice(done, done + 500))
})
afterAll(async () => {
  await store.close()
  await dropDatabase(NAME)
})

const idsOf = (items: readonly { readonly decision: { readonly id: string } }[]) =>
  items.map(({ decision }) => decision.id)

it('a page is what was found when its time is over, and the next ones go on from there', async () => {
  const clock = vi.spyOn(performance, 'now')
  const pages: string[][] = []
  try {
    for (let page: PageRequest | null = FIRST; page !== null; ) {
      // Each look at the clock is three seconds after the one before.
      let now = 0
      clock.mockImplementation(() => (now += 3000))
      const { items, next } = await store.decisions.list(FILTER, page)
      pages.push(idsOf(items))
      page = next === null ? null : { ...FIRST, after: next }
    }
  } finally {
    clock.mockRestore()
  }
  expect(pages.length).toBeGreaterThan(5)
  expect(pages.filter((ids) => ids.length === 0).length).toBeGreaterThan(3)
  expect(pages.flat()).toEqual([...RARE].reverse().map((number) => idOf('dec', number)))
})

it('a page is full as long as there is time', async () => {
  const { items, next } = await store.decisions.list(FILTER, FIRST)
  expect({ ids: idsOf(items), next }).toEqual({
    ids: [...RARE].reverse().map((number) => idOf('dec', number)),
    next: null,
  })
  expect((await store.decisions.list(FILTER, { limit: 1, after: null })).next).not.toBeNull()
})

it('the server gives a read up before its answer is given up', async () => {
  const database = await Database.open(mongoUrl(NAME))
  const { socketTimeoutMS, waitQueueTimeoutMS } = database.decisions.db.client.options
  await database.close()
  expect(READ_LIMIT_MS).toBeLessThan(socketTimeoutMS)
  expect(waitQueueTimeoutMS).toBeGreaterThan(0)
})

it('nothing more is read for a page that nobody waits for', async () => {
  const { items, next } = await store.decisions.list(FILTER, { ...FIRST, isWanted: () => false })
  expect(items).toEqual([])
  expect(next).not.toBeNull()
})

it('however many lists are read by a store that does not answer them, decisions are written', async () => {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const relay = await relayTo(mongoUrl(NAME), { before: 'held-hash', run: () => released })
  const behind = await openMongoStore({ url: relay.url })
  const lists = Array.from({ length: 60 }, () =>
    behind.decisions
      .list({ request_hash: 'held-hash', agents: null, now: instant(0) }, FIRST)
      .catch((error: unknown) => error),
  )
  const pen = await LogPen.of(behind)
  for (const number of [1, 2, 3]) {
    const result = await pen.commit(createOf(decisionOf(DECISIONS + number)))
    expect(result).toEqual({ written: 1, conflict: null })
  }
  // Those who waited for a place are told.
  await Promise.race(lists).then((first) => expect(first).toBeInstanceOf(StoreUnavailableError))
  release()
  await Promise.all(lists)
  await behind.close()
  relay.close()
})
