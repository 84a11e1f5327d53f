import type { DecisionStatus } from '@countersign/contract'
import { expect } from 'vitest'
import type { OpenStatus } from '#server/ports/store/decisions'
import type { Store } from '#server/ports/store/store'
import { createOf, decisionOf, idOf, instant, LogPen, updateOf } from './documents.js'
import { type StoreCase, WHOLE, walk } from './store-case.js'

const OPEN: readonly OpenStatus[] = ['authorized', 'awaiting_review', 'approved']
const ENDED: readonly DecisionStatus[] = ['denied', 'declined', 'confirmed', 'rejected', 'expired']

/** When the decisions of a case end, in seconds, by number. */
const ENDS = [50, 10, 40, 20, 30]

/** One decision of each status for each end; their numbers tell which is which. */
async function withEnds(store: Store): Promise<void> {
  const pen = await LogPen.of(store)
  const drafts = [...OPEN, ...ENDED].flatMap((status, kind) =>
    ENDS.map((end, number) => createOf(decisionOf(100 * kind + number, { status, expires_at: instant(end) }))),
  )
  await pen.commit(...drafts)
}

async function overdue(store: Store, status: OpenStatus, now: number, limit = 100): Promise<readonly string[]> {
  return (await store.decisions.listOverdue(status, instant(now), { limit, after: null })).items.map(({ id }) => id)
}

export const OVERDUE_CASES: readonly StoreCase[] = [
  {
    title: 'names what is overdue by its status, the longest overdue first, exact to the instant',
    async run({ store, reopen }) {
      await withEnds(store)
      const reopened = await reopen()
      for (const [kind, status] of OPEN.entries()) {
        const ids = [1, 3, 4, 2, 0].map((number) => idOf('dec', 100 * kind + number))
        expect(await overdue(reopened, status, 9.999)).toEqual([])
        expect(await overdue(reopened, status, 10)).toEqual(ids.slice(0, 1))
        expect(await overdue(reopened, status, 39.999)).toEqual(ids.slice(0, 3))
        expect(await overdue(reopened, status, 1000)).toEqual(ids)
        expect(await overdue(reopened, status, 1000, 2)).toEqual(ids.slice(0, 2))
      }
    },
  },
  {
    title: 'lists what is overdue page by page, also what ends at one instant',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const ends = [20, 10, 10, 10, 10, 10, 30]
      await pen.commit(...ends.map((end, number) => createOf(decisionOf(number, { expires_at: instant(end) }))))
      const reopened = await reopen()
      for (const limit of [1, 2, 3, 4, 6, 7, 8]) {
        const all = await walk(limit, (page) => reopened.decisions.listOverdue('authorized', instant(30), page))
        expect(all.map(({ expires_at }) => expires_at)).toEqual(ends.toSorted((a, b) => a - b).map(instant))
        expect(new Set(all.map(({ id }) => id)).size).toBe(ends.length)
      }
    },
  },
  {
    title: 'gives back what is overdue whole, and no longer once it was written otherwise',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const [first, second] = [decisionOf(1), decisionOf(2)]
      await pen.commit(createOf(first), createOf(second))
      expect(await store.decisions.listOverdue('authorized', first.expires_at, WHOLE)).toStrictEqual({
        items: [first],
        next: null,
      })
      await pen.commit(updateOf(first, { status: 'expired' }))
      expect(await store.decisions.listOverdue('authorized', second.expires_at, WHOLE)).toStrictEqual({
        items: [second],
        next: null,
      })
      const claimed = updateOf(second, { expires_at: instant(5000) })
      await pen.commit(claimed)
      expect(await overdue(store, 'authorized', 4999.999)).toEqual([])
      expect(await store.decisions.listOverdue('authorized', instant(5000), WHOLE)).toStrictEqual({
        items: [claimed.decision],
        next: null,
      })
    },
  },
  {
    title: 'knows the first end of all approvals',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      expect(await store.decisions.firstApprovalEnd()).toBeNull()
      await pen.commit(createOf(decisionOf(1)), createOf(decisionOf(2, { status: 'awaiting_review' })))
      expect(await store.decisions.firstApprovalEnd()).toBeNull()
      const [late, early] = [30, 20.001].map((end, number) =>
        decisionOf(10 + number, { status: 'approved', expires_at: instant(end) }),
      )
      if (late === undefined || early === undefined) return expect.unreachable()
      await pen.commit(createOf(late), createOf(early))
      expect(await store.decisions.firstApprovalEnd()).toBe(instant(20.001))
      await pen.commit(updateOf(early, { status: 'authorized' }))
      expect(await (await reopen()).decisions.firstApprovalEnd()).toBe(instant(30))
    },
  },
]
