import { expect } from 'vitest'
import type { DecisionFilter, HeldRequestFilter } from '#server/ports/store/decisions'
import type { StoredDecision, StoredDelivery } from '#server/ports/store/documents'
import type { PageRequest } from '#server/ports/store/page'
import type { Store } from '#server/ports/store/store'
import {
  accountOf,
  createOf,
  DAY,
  decisionOf,
  deliveryOf,
  eraseOf,
  heldIn,
  idempotencyOf,
  idOf,
  instant,
  LogPen,
  requestOf,
  reviewOf,
  spentIn,
  updateOf,
} from './documents.js'
import { type OpenedStore, type StoreCase, WHOLE, walk } from './store-case.js'

/** Checks a store, and what it left once more when it is opened again. */
async function expectKept({ store, reopen }: OpenedStore, check: (store: Store) => Promise<void>): Promise<void> {
  await check(store)
  await check(await reopen())
}

const ATTEMPT = { at: instant(9), status: 200, error: null, response: 'its answer', duration_ms: 1.5 }
const NOTHING_HELD = { context: null, salt: null }

async function found(store: Store, filter: Partial<DecisionFilter>): Promise<readonly string[]> {
  const { items } = await store.decisions.list({ agents: null, now: instant(0), ...filter }, WHOLE)
  return items.map(({ decision }) => decision.id)
}

/** Of the decision and of another one that asked for the same. */
async function expectErased(store: Store, decision: StoredDecision, twin: StoredDecision): Promise<void> {
  const erased = { decision, request: NOTHING_HELD }
  expect(await store.decisions.get(decision.id)).toStrictEqual(erased)
  expect((await store.decisions.get(twin.id))?.request).toStrictEqual(requestOf(2))
  const { items } = await store.decisions.list({ agents: null, now: instant(0) }, WHOLE)
  expect(items).toStrictEqual([{ decision: twin, request: requestOf(2) }, erased])
  expect(await found(store, { request_hash: twin.request_hash as string })).toEqual([twin.id])
  expect(await found(store, { resource: twin.resource as string })).toEqual([twin.id])
  expect(await found(store, { agent_id: decision.agent_id })).toEqual([twin.id, decision.id])
}

/** Decisions of two agents in turn, one each second. */
function decisionsOfTwo(count: number): readonly StoredDecision[] {
  return Array.from({ length: count }, (_, i) => decisionOf(i + 1, { agent_id: `agent:${(i + 1) % 2}` }))
}

async function held(store: Store, filter: HeldRequestFilter = {}): Promise<readonly string[]> {
  return (await walk(2, (page) => store.decisions.listHeldRequests(filter, page))).map(({ id }) => id)
}

const idsOf = (...numbers: readonly number[]) => numbers.map((number) => idOf('dec', number))

/** What is listed page by page while something is done behind the first one. */
async function listedAround(store: Store, act: () => Promise<unknown>): Promise<readonly string[]> {
  let pages = 0
  const listed = await walk(3, async (page: PageRequest) => {
    pages += 1
    if (pages === 2) await act()
    return store.decisions.listHeldRequests({}, page)
  })
  return listed.map(({ id }) => id)
}

export const ERASURE_CASES: readonly StoreCase[] = [
  {
    title: 'erases the request of a decision, which nothing of it finds any more, and keeps all else',
    async run(opened) {
      const pen = await LogPen.of(opened.store)
      const decision = decisionOf(1, { reason: 'It may.', status: 'confirmed' })
      const twin = decisionOf(2, { request_hash: decision.request_hash, resource: decision.resource })
      await pen.commit(createOf(decision, requestOf(1)), createOf(twin, requestOf(2)))
      const erase = eraseOf(decision)
      expect(await pen.commit(erase)).toEqual({ written: 1, conflict: null })
      await expectKept(opened, async (one) => {
        await expectErased(one, erase.decision, twin)
        expect((await one.audit.list({ subject: decision.id }, WHOLE)).items).toHaveLength(2)
      })
    },
  },
  {
    title: 'erases what endpoints have answered to the events of a decision, and of no other',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const decisions = [decisionOf(1), decisionOf(2)] as const
      await pen.commit(...decisions.map((decision) => createOf(decision)))
      const ofFirst = { event: { ...deliveryOf(1).event, subject: decisions[0].id } }
      const delivered = { status: 'delivered', next_attempt_at: null, attempts: [ATTEMPT] } as const
      const [first, second] = [deliveryOf(1, { ...ofFirst, ...delivered }), deliveryOf(2, delivered)]
      const waiting = deliveryOf(3, { ...ofFirst, attempts: [ATTEMPT, ATTEMPT] })
      for (const delivery of [first, second, waiting]) await store.deliveries.add(delivery)
      await pen.commit(eraseOf(decisions[0]))
      const feed = await reopen()
      const responsesOf = async (id: string) =>
        (await feed.deliveries.get(id))?.attempts.map(({ response }) => response)
      expect(await responsesOf(first.id)).toEqual([null])
      expect(await responsesOf(second.id)).toEqual(['its answer'])
      expect(await responsesOf(waiting.id)).toEqual([null, null])
      expect((await feed.deliveries.get(first.id))?.attempts).toEqual([{ ...ATTEMPT, response: null }])
    },
  },
  {
    title: 'keeps no answer that comes after the request was erased',
    async run({ store }) {
      const pen = await LogPen.of(store)
      await pen.commit(createOf(decisionOf(1)))
      const delivery = deliveryOf(1)
      await store.deliveries.add(delivery)
      await pen.commit(eraseOf(decisionOf(1)))
      for (let tries = 0; ; tries += 1) {
        // A reader that has it from before the erasure may have to read it again.
        const present = tries === 0 ? delivery : ((await store.deliveries.get(delivery.id)) as StoredDelivery)
        const answered = { ...present, version: present.version + 1, attempts: [ATTEMPT] }
        if ((await store.deliveries.update([answered])).length === 1) break
        expect(tries).toBe(0)
      }
      expect((await store.deliveries.get(delivery.id))?.attempts).toEqual([{ ...ATTEMPT, response: null }])
    },
  },
  {
    title: 'erases a request in the group that brought it',
    async run(opened) {
      const pen = await LogPen.of(opened.store)
      const decision = decisionOf(1)
      const record = idempotencyOf(decision.id, { fingerprint: decision.request_hash })
      const erase = eraseOf(decision)
      await pen.commit({ change: createOf(decision), idempotency: record }, erase, createOf(decisionOf(2)))
      await expectKept(opened, async (one) => {
        expect(await one.decisions.get(decision.id)).toStrictEqual({ decision: erase.decision, request: NOTHING_HELD })
        expect((await one.idempotency.get(record, instant(1)))?.fingerprint).toBeNull()
        expect(await held(one)).toEqual(idsOf(2))
      })
    },
  },
  {
    title: 'keeps a request erased through the later updates of its decision',
    async run(opened) {
      const pen = await LogPen.of(opened.store)
      const waiting = reviewOf(1)
      const erase = eraseOf(waiting)
      await pen.commit(createOf(waiting, requestOf(1)), erase)
      expect((await opened.store.decisions.listOpenReviews(instant(2))).map(({ id }) => id)).toEqual([waiting.id])
      const declined = updateOf(erase.decision, { status: 'declined' })
      expect(await pen.commit(declined)).toEqual({ written: 1, conflict: null })
      await expectKept(opened, async (one) => {
        expect(await one.decisions.get(waiting.id)).toStrictEqual({
          decision: declined.decision,
          request: NOTHING_HELD,
        })
        expect(await found(one, { request_hash: waiting.request_hash as string })).toEqual([])
        expect(await held(one)).toEqual([])
      })
    },
  },
  {
    title: 'forgets the fingerprint of the call that asked, and of no other call',
    async run(opened) {
      const pen = await LogPen.of(opened.store)
      const decision = decisionOf(1)
      const twin = decisionOf(2, { request_hash: decision.request_hash })
      const asked = idempotencyOf(decision.id, { fingerprint: decision.request_hash })
      const again = { ...asked, key: 'again' }
      const confirmed = { ...asked, operation: `POST /v1/decisions/${decision.id}/confirm`, fingerprint: 'another' }
      const twins = { ...asked, key: 'twin', subject: twin.id }
      const confirm = updateOf(decision, { status: 'confirmed' })
      await pen.commit(
        { change: createOf(decision), idempotency: asked },
        { change: createOf(twin), idempotency: twins },
      )
      await pen.commit(
        { change: confirm, idempotency: confirmed },
        { change: { kind: 'call.only' }, idempotency: again },
      )
      await pen.commit(eraseOf(confirm.decision))
      await expectKept(opened, async (one) => {
        for (const record of [asked, again])
          expect(await one.idempotency.get(record, instant(1))).toStrictEqual({ ...record, fingerprint: null })
        for (const record of [confirmed, twins])
          expect(await one.idempotency.get(record, instant(1))).toStrictEqual(record)
        const other = decisionOf(3)
        const repeated = { change: createOf(other), idempotency: { ...asked, subject: other.id } }
        const more = await LogPen.of(one)
        expect(await more.commit(repeated)).toEqual({ written: 0, conflict: 'idempotency_key' })
      })
    },
  },
  {
    title: 'erases nothing of a decision at another version',
    async run(opened) {
      const pen = await LogPen.of(opened.store)
      const decision = decisionOf(1)
      const asked = idempotencyOf(decision.id, { fingerprint: decision.request_hash })
      const redeemed = updateOf(decision, { redeemed: { by: idOf('key', 1), at: instant(2) } })
      await pen.commit({ change: createOf(decision, requestOf(1)), idempotency: asked }, redeemed)
      expect(await pen.commit(eraseOf(decision))).toEqual({ written: 0, conflict: 'version' })
      expect(await pen.commit(eraseOf(decisionOf(7)))).toEqual({ written: 0, conflict: 'version' })
      const whole = { decision: redeemed.decision, request: requestOf(1) }
      await expectKept(opened, async (one) => {
        expect(await one.decisions.get(decision.id)).toStrictEqual(whole)
        expect(await one.idempotency.get(asked, instant(1))).toStrictEqual(asked)
        expect(await found(one, { request_hash: decision.request_hash as string })).toEqual([decision.id])
        expect(await held(one)).toEqual([decision.id])
      })
    },
  },
  {
    title: 'brings nothing back by an update that was made before its request was erased',
    async run(opened) {
      const pen = await LogPen.of(opened.store)
      const decision = decisionOf(1)
      const erase = eraseOf(decision)
      await pen.commit(createOf(decision, requestOf(1)))
      const confirmed = updateOf(decision, { status: 'confirmed' })
      expect(await pen.commit(erase, confirmed)).toEqual({ written: 1, conflict: 'version' })
      await expectKept(opened, async (one) => {
        expect(await one.decisions.get(decision.id)).toStrictEqual({ decision: erase.decision, request: NOTHING_HELD })
      })
    },
  },
  {
    title: 'counts the same for a decision before and after its request was erased',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const account = accountOf()
      const open = decisionOf(1, { postings: [heldIn(account, 7n)] })
      const erase = eraseOf(open)
      await pen.commit(createOf(open), createOf(decisionOf(2, { postings: [spentIn(account, 5n)] })))
      const before = await store.accounts.get([account])
      expect(before).toMatchObject([{ spent: '5', reserved: '7' }])
      await pen.commit(erase)
      expect(await store.accounts.get([account])).toStrictEqual(before)
      const reopened = await reopen()
      expect(await reopened.accounts.get([account])).toStrictEqual(before)
      const confirmed = updateOf(erase.decision, { status: 'confirmed', postings: [spentIn(account, 7n, 6n)] })
      await (await LogPen.of(reopened)).commit(confirmed)
      expect(await reopened.accounts.get([account])).toMatchObject([{ spent: '11', reserved: '0' }])
    },
  },
  {
    title: 'lists held requests the oldest first, by agent and time, exact to the instant, page by page',
    async run(opened) {
      const pen = await LogPen.of(opened.store)
      // Two of one instant are ordered by their ids.
      const twin = decisionOf(9, { agent_id: 'agent:1', evaluated_at: instant(3) })
      const decisions = [...decisionsOfTwo(7), twin]
      await pen.commit(...decisions.toReversed().map((decision) => createOf(decision)))
      for (const erased of [2, 5]) await pen.commit(eraseOf(decisions[erased - 1] as StoredDecision))
      await expectKept(opened, async (one) => {
        const { items } = await one.decisions.listHeldRequests({}, { limit: 2, after: null })
        expect(items).toStrictEqual([1, 3].map((n) => ({ id: idOf('dec', n), evaluated_at: instant(n) })))
        expect(await held(one)).toEqual(idsOf(1, 3, 9, 4, 6, 7))
        expect(await held(one, { agent_id: 'agent:1' })).toEqual(idsOf(1, 3, 9, 7))
        expect(await held(one, { agent_id: 'agent:0' })).toEqual(idsOf(4, 6))
        expect(await held(one, { agent_id: 'agent:2' })).toEqual([])
        expect(await held(one, { evaluated_from: instant(3) })).toEqual(idsOf(3, 9, 4, 6, 7))
        expect(await held(one, { evaluated_from: instant(3.001) })).toEqual(idsOf(4, 6, 7))
        expect(await held(one, { evaluated_before: instant(6) })).toEqual(idsOf(1, 3, 9, 4))
        expect(await held(one, { evaluated_before: instant(6.001) })).toEqual(idsOf(1, 3, 9, 4, 6))
        const all = { agent_id: 'agent:1', evaluated_from: instant(2), evaluated_before: instant(7) }
        expect(await held(one, all)).toEqual(idsOf(3, 9))
      })
    },
  },
  {
    title: 'lists each held request once while others are erased, removed and added between the pages',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const decisions = decisionsOfTwo(12).map((decision) => ({ ...decision, status: 'denied' as const }))
      const numbered = (number: number) => decisions[number - 1] as StoredDecision
      await pen.commit(...decisions.map((decision) => createOf(decision)))
      const listed = await listedAround(store, async () => {
        // The first and the last of the page before, and one behind it.
        for (const number of [1, 3, 7]) await pen.commit(eraseOf(numbered(number)))
        expect(await store.decisions.remove([numbered(2), numbered(9)], instant(2 * DAY))).toBe(2)
        await pen.commit(createOf(decisionOf(20, { evaluated_at: instant(0) })), createOf(decisionOf(21)))
      })
      expect(listed.filter((id) => id !== idOf('dec', 21))).toEqual(idsOf(1, 2, 3, 4, 5, 6, 8, 10, 11, 12))
    },
  },
  {
    title: 'wipes what was erased and removed, as often as it is asked, and nothing else',
    async run(opened) {
      await opened.store.wipe()
      const pen = await LogPen.of(opened.store)
      const [kept, erased, removed] = [1, 2, 3].map((number) => decisionOf(number, { status: 'denied' })) as [
        StoredDecision,
        StoredDecision,
        StoredDecision,
      ]
      const erase = eraseOf(erased)
      await pen.commit(...[kept, erased, removed].map((decision) => createOf(decision)), erase)
      await Promise.all([opened.store.wipe(), opened.store.wipe()])
      expect(await opened.store.decisions.remove([removed], instant(DAY))).toBe(1)
      // A commit does not wait for its end.
      await Promise.all([opened.store.wipe(), pen.commit(createOf(decisionOf(4)))])
      await expectKept(opened, async (one) => {
        await one.wipe()
        expect(await found(one, {})).toEqual(idsOf(4, 2, 1))
        expect(await one.decisions.get(kept.id)).toStrictEqual({ decision: kept, request: requestOf(1) })
        expect((await one.decisions.get(erased.id))?.decision).toStrictEqual(erase.decision)
        expect((await one.audit.list({}, WHOLE)).items).toHaveLength(5)
      })
    },
  },
]
