import type { JsonObject } from '@countersign/contract'
import { expect } from 'vitest'
import { createOf, decisionOf, idOf, instant, LogPen, requestOf, reviewOf, TTL, updateOf } from './documents.js'
import type { StoreCase } from './store-case.js'

const HARD_JSON: JsonObject = {
  largest: Number.MAX_SAFE_INTEGER,
  smallest: Number.MIN_SAFE_INTEGER,
  tiny: 1e-7,
  tinier: 5e-324,
  huge: 1.7976931348623157e308,
  third: 0.1 + 0.2,
  zero: 0,
  empty: '',
  nothing: null,
  yes: true,
  list: [[], {}, [null, 1, 'two', { three: false }]],
  $where: 'this.a = 1; return true',
  'quote\'"`;--': "'); DROP TABLE decisions; --",
  'ünïcödé ☃ 𝄞': '\u0000\u0001\n\t\\ \u2028 \ud834\udd1e',
  '1': 'a number as a key',
  toString: 'an inherited name',
}

export const DECISION_CASES: readonly StoreCase[] = [
  {
    title: 'gives back a decision and its request as they were written, to the last bit',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const decision = reviewOf(1, {
        resource: null,
        latency_ms: 1e-7,
        trace_id: '4bf92f3577b34da6a3ce929d0e0e4736',
        advice: { retry: 'after', after: instant(5), max_amount: 12.5, message: "it's “so”\u0000" },
        shadow: [{ policy_id: idOf('pol', 3), effect: 'deny', rule: 0 }],
        budgets: [
          {
            policy_id: idOf('pol', 1),
            unit: 'EUR',
            amount: null,
            period: 'total',
            starts_at: null,
            resets_at: null,
            remaining: 0.1,
            over_limit: false,
            reserved: true,
          },
        ],
      })
      const request = requestOf(1, HARD_JSON)
      await pen.commit(createOf(decision, request))
      expect(await store.decisions.get(decision.id)).toStrictEqual({ decision, request })
      expect(await (await reopen()).decisions.get(decision.id)).toStrictEqual({ decision, request })
    },
  },
  {
    title: 'keeps minus zero as zero, an absent member absent and null null',
    async run({ store }) {
      const pen = await LogPen.of(store)
      await pen.commit(createOf(decisionOf(1), requestOf(1, { zero: -0, nothing: null })))
      await pen.commit(createOf(decisionOf(2), requestOf(2, null)))
      await pen.commit(createOf(decisionOf(3), requestOf(3, {})))
      const contexts = await Promise.all([1, 2, 3].map((number) => store.decisions.get(idOf('dec', number))))
      expect(contexts.map((found) => found?.request.context)).toStrictEqual([{ zero: 0, nothing: null }, null, {}])
    },
  },
  {
    title: 'keeps a request of 64 KiB',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const request = requestOf(1, { text: '☃'.repeat(21_000) })
      await pen.commit(createOf(decisionOf(1), request))
      expect((await store.decisions.get(idOf('dec', 1)))?.request).toStrictEqual(request)
    },
  },
  {
    title: 'finds no decision where there is none',
    async run({ store }) {
      expect(await store.decisions.get(idOf('dec', 1))).toBeNull()
      expect(await store.decisions.get('')).toBeNull()
    },
  },
  {
    title: 'keeps a decision as it was last written, with its request, and all others as they were',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const [updated, other] = [decisionOf(1), decisionOf(2)]
      const request = requestOf(1, { amount: 5 })
      await pen.commit(createOf(updated, request), createOf(other))
      const update = updateOf(updated, {
        status: 'confirmed',
        expires_at: instant(999),
        outcome: {
          result: 'confirmed',
          amount: 4.5,
          note: null,
          at: instant(9),
          late: false,
          overage: false,
          corrected: false,
        },
      })
      await pen.commit(update)
      const reopened = await reopen()
      expect(await reopened.decisions.get(updated.id)).toStrictEqual({ decision: update.decision, request })
      expect((await reopened.decisions.get(other.id))?.decision).toStrictEqual(other)
    },
  },
  {
    title: 'names the open reviews: written as awaiting review and not over',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const [open, over, answered] = [reviewOf(10), reviewOf(9), reviewOf(11)]
      const approved = updateOf(answered, { status: 'approved' })
      await pen.commit(createOf(decisionOf(12)), createOf(open), createOf(over), createOf(answered), approved)
      const expected = { id: open.id, agent_id: open.agent_id, key_id: open.key_id, expires_at: open.expires_at }
      const reopened = await reopen()
      expect(await reopened.decisions.listOpenReviews(over.expires_at)).toEqual([expected])
      expect(await reopened.decisions.listOpenReviews(instant(10 + TTL - 0.001))).toEqual([expected])
      expect(await reopened.decisions.listOpenReviews(instant(10 + TTL))).toEqual([])
    },
  },
  {
    title: 'measures the open reviews: how many there are, and since when the oldest waits',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      expect(await store.decisions.measureReviews(instant(0))).toEqual({ waiting: 0, oldest_at: null })
      // The one that is over first is the youngest.
      const [over, old, young] = [reviewOf(1), reviewOf(10), reviewOf(20, { expires_at: instant(TTL + 5) })]
      const approved = reviewOf(2, { status: 'approved' })
      await pen.commit(createOf(young), createOf(approved), createOf(decisionOf(3)), createOf(old), createOf(over))
      const reopened = await reopen()
      const at = (second: number) => reopened.decisions.measureReviews(instant(second))
      expect(await at(TTL)).toEqual({ waiting: 3, oldest_at: over.evaluated_at })
      expect(await at(TTL + 1)).toEqual({ waiting: 2, oldest_at: old.evaluated_at })
      expect(await at(TTL + 5)).toEqual({ waiting: 1, oldest_at: old.evaluated_at })
      expect(await at(TTL + 10)).toEqual({ waiting: 0, oldest_at: null })
    },
  },
  {
    title: 'says the present status of a decision as last written, null of one that is not there',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const waiting = reviewOf(1)
      await pen.commit(createOf(waiting))
      const { status, expires_at } = waiting
      expect(await store.decisions.getStatus(waiting.id)).toStrictEqual({ status, expires_at })
      await pen.commit(updateOf(waiting, { status: 'approved', expires_at: instant(77) }))
      expect(await store.decisions.getStatus(waiting.id)).toStrictEqual({ status: 'approved', expires_at: instant(77) })
      expect(await store.decisions.getStatus(idOf('dec', 2))).toBeNull()
    },
  },
]
