import { expect } from 'vitest'
import type { StoredDelivery } from '#server/ports/store/documents'
import type { Store } from '#server/ports/store/store'
import {
  accountOf,
  createOf,
  DAY,
  decisionOf,
  deliveryOf,
  heldIn,
  idempotencyOf,
  idOf,
  instant,
  LogPen,
  spentIn,
  updateOf,
} from './documents.js'
import { type StoreCase, WHOLE } from './store-case.js'

const LATER = 100 * DAY

async function closed(store: Store, evaluatedBefore: number, endedBefore: number): Promise<readonly string[]> {
  const filter = { evaluated_before: instant(evaluatedBefore), ended_before: instant(endedBefore) }
  return (await store.decisions.listClosed(filter, WHOLE)).items.map(({ id }) => id)
}

export const REMOVAL_CASES: readonly StoreCase[] = [
  {
    title: 'lists what is closed, the oldest first, exact to the instant, page by page',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const ended = ['denied', 'declined', 'confirmed', 'rejected', 'expired'] as const
      const drafts = ended.map((status, i) => decisionOf(i + 1, { status, expires_at: instant(1000 - i) }))
      // Two of one instant are ordered by their ids.
      const twin = decisionOf(9, { status: 'denied', evaluated_at: instant(2), expires_at: instant(999) })
      const open = (['authorized', 'awaiting_review', 'approved'] as const).map((status, i) =>
        decisionOf(20 + i, { status, evaluated_at: instant(0), expires_at: instant(0) }),
      )
      await pen.commit(...[...drafts, twin, ...open].reverse().map((decision) => createOf(decision)))
      const reopened = await reopen()
      const ids = [1, 2, 9, 3, 4, 5].map((number) => idOf('dec', number))
      expect(await closed(reopened, 5.001, 1000.001)).toEqual(ids)
      expect(await closed(reopened, 5, 1000)).toEqual(ids.slice(1, 5))
      expect(await closed(reopened, LATER, 998)).toEqual(ids.slice(4))
      const filter = { evaluated_before: instant(LATER), ended_before: instant(LATER) }
      const walked: string[] = []
      for (let after: string | null = null, pages = 0; pages < 4; pages += 1) {
        const page = await reopened.decisions.listClosed(filter, { limit: 2, after })
        walked.push(...page.items.map(({ id }) => id))
        after = page.next
        expect(after === null).toBe(pages === 2)
        if (after === null) break
      }
      expect(walked).toEqual(ids)
    },
  },
  {
    title: 'says what a closed decision counts for where, as last written',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const [kept, given] = [accountOf(), accountOf({ agent_id: 'agent:a' })]
      const decision = decisionOf(1, { postings: [heldIn(kept, 7n), heldIn(given, 9n)] })
      const settled = updateOf(decision, {
        status: 'confirmed',
        postings: [spentIn(kept, 7n, 5n), { ...heldIn(given, 9n), reserved: '0' }],
      })
      await pen.commit(createOf(decision), settled, createOf(decisionOf(2, { status: 'denied' })))
      const filter = { evaluated_before: instant(LATER), ended_before: instant(LATER) }
      const { items } = await store.decisions.listClosed(filter, WHOLE)
      const counted = items.map(({ id, version, postings }) => {
        const sums = postings.map(({ account, spent, reserved }) => [account.agent_id, spent, reserved])
        return { id, version, sums: sums.sort() }
      })
      expect(counted).toEqual([
        {
          id: decision.id,
          version: 2,
          sums: [
            [null, '5', '0'],
            ['agent:a', '0', '0'],
          ],
        },
        { id: idOf('dec', 2), version: 1, sums: [] },
      ])
    },
  },
  {
    title: 'removes decisions with their requests and leaves accounts, entries and agents as they are',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const account = accountOf()
      const [gone, kept] = [1, 2].map((number) => {
        return decisionOf(number, { status: 'confirmed', postings: [spentIn(account, 7n)] })
      })
      if (gone === undefined || kept === undefined) return expect.unreachable()
      await pen.commit(createOf(gone), createOf(kept))
      const before = [await store.accounts.get([account]), await store.audit.list({}, WHOLE)]
      const reopened = await reopen()
      expect(await reopened.decisions.remove([gone, { id: idOf('dec', 77), version: 1 }], instant(LATER))).toBe(1)
      expect(await reopened.decisions.remove([gone], instant(LATER))).toBe(0)
      expect(await reopened.decisions.remove([], instant(LATER))).toBe(0)
      const again = await reopen()
      expect(await again.decisions.get(gone.id)).toBeNull()
      expect((await again.decisions.get(kept.id))?.decision).toStrictEqual(kept)
      expect([await again.accounts.get([account]), await again.audit.list({}, WHOLE)]).toStrictEqual(before)
      expect(await again.agents.get(gone.agent_id)).not.toBeNull()
      const more = await LogPen.of(again)
      const late = { ...updateOf(gone, { status: 'rejected' }) }
      expect(await more.commit(late)).toEqual({ written: 0, conflict: 'version' })
      await more.commit(createOf(decisionOf(3, { postings: [spentIn(account, 1n)] })))
      expect(await again.accounts.get([account])).toMatchObject([{ spent: '15', reserved: '0' }])
    },
  },
  {
    title: 'removes what endpoints have answered to the events of a removed decision, also later',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const [gone, kept] = [decisionOf(1, { status: 'denied' }), decisionOf(2, { status: 'denied' })]
      await pen.commit(createOf(gone), createOf(kept))
      const attempts = [{ at: instant(9), status: 200, error: null, response: 'its answer', duration_ms: 1.5 }]
      const ended = { status: 'delivered', next_attempt_at: null, attempts } as const
      const [ofGone, ofKept] = [deliveryOf(1, ended), deliveryOf(2, ended)]
      const sending = deliveryOf(3, { event: { ...deliveryOf(3).event, subject: gone.id } })
      for (const delivery of [ofGone, ofKept, sending]) await store.deliveries.add(delivery)
      expect(await store.decisions.remove([gone, { ...kept, version: 7 }], instant(LATER))).toBe(1)
      const feed = await reopen()
      for (let tries = 0; ; tries += 1) {
        // A reader that has it from before the removal may have to read it again.
        const present = tries === 0 ? sending : ((await feed.deliveries.get(sending.id)) as StoredDelivery)
        if ((await feed.deliveries.update([{ ...present, version: present.version + 1, attempts }])).length === 1) break
        expect(tries).toBe(0)
      }
      const responsesOf = async ({ id }: StoredDelivery) =>
        (await feed.deliveries.get(id))?.attempts.map(({ response }) => response)
      expect([await responsesOf(ofGone), await responsesOf(sending)]).toEqual([[null], [null]])
      expect(await responsesOf(ofKept)).toEqual(['its answer'])
    },
  },
  {
    title: 'keeps a decision that has changed since it was read',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const decision = decisionOf(1, { status: 'rejected' })
      const updated = updateOf(decision, { status: 'confirmed' })
      await pen.commit(createOf(decision), updated)
      expect(await store.decisions.remove([decision], instant(LATER))).toBe(0)
      expect((await store.decisions.get(decision.id))?.decision).toStrictEqual(updated.decision)
      expect(await store.decisions.remove([updated.decision], instant(LATER))).toBe(1)
    },
  },
  {
    title: 'keeps a decision as long as a record of a call names it',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const decision = decisionOf(1, { status: 'denied' })
      const over = { created_at: instant(5), expires_at: instant(DAY) }
      const record = idempotencyOf(decision.id, over)
      const call = idempotencyOf(decision.id, { key: 'another', created_at: instant(6), expires_at: instant(2 * DAY) })
      await pen.commit(
        { change: createOf(decision), idempotency: record },
        { change: { kind: 'call.only' }, idempotency: call },
      )
      expect(await store.decisions.remove([decision], instant(DAY))).toBe(0)
      expect(await store.decisions.remove([decision], instant(2 * DAY - 0.001))).toBe(0)
      expect(await store.decisions.get(decision.id)).not.toBeNull()
      expect(await store.decisions.remove([decision], instant(2 * DAY))).toBe(1)
      expect(await store.decisions.get(decision.id)).toBeNull()
    },
  },
]
