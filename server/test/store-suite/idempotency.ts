import type { DecisionStatus } from '@countersign/contract'
import { expect } from 'vitest'
import type { IdempotencyRecord } from '#server/ports/store/documents'
import {
  createOf,
  DAY,
  decisionOf,
  idempotencyOf,
  idOf,
  instant,
  LogPen,
  policyOf,
  updateOf,
  writePolicyOf,
} from './documents.js'
import { type StoreCase, WHOLE } from './store-case.js'

/** A record made at an instant in seconds, for a decision with a lifetime in seconds. */
function attempt(number: number, atSeconds: number, lifeSeconds: number, over: Partial<IdempotencyRecord> = {}) {
  const decision = decisionOf(number, {
    evaluated_at: instant(atSeconds),
    expires_at: instant(atSeconds + lifeSeconds),
  })
  const record = idempotencyOf(decision.id, {
    created_at: instant(atSeconds),
    expires_at: instant(atSeconds + DAY),
    fingerprint: `fingerprint-${number}`,
    ...over,
  })
  return { decision, record, draft: { change: createOf(decision), idempotency: record } }
}

const ENDS: readonly DecisionStatus[] = ['denied', 'declined', 'rejected', 'confirmed', 'expired']

export const IDEMPOTENCY_CASES: readonly StoreCase[] = [
  {
    title: 'keeps the record of a call that changed nothing, without an entry in the log, among others of its group',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const call = { change: { kind: 'call.only' }, idempotency: idempotencyOf(idOf('dec', 1)) } as const
      expect(await pen.commit(createOf(decisionOf(1)), call, createOf(decisionOf(2)))).toEqual({
        written: 3,
        conflict: null,
      })
      expect(await pen.commit(call, createOf(decisionOf(3)))).toEqual({ written: 0, conflict: 'idempotency_key' })
      const reopened = await reopen()
      expect(await reopened.idempotency.get(call.idempotency, instant(0))).toStrictEqual(call.idempotency)
      expect((await reopened.openLog()).next_index).toBe(2)
      expect((await reopened.audit.list({}, WHOLE)).items.map(({ subject }) => subject)).toEqual([
        idOf('dec', 2),
        idOf('dec', 1),
      ])
    },
  },
  {
    title: 'finds a record by its whole name and gives it back as it was written',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const { record, draft } = attempt(1, 0, 300)
      await pen.commit(draft)
      const reopened = await reopen()
      expect(await reopened.idempotency.get(record, instant(1))).toStrictEqual(record)
      for (const other of [
        { key_id: idOf('key', 2) },
        { operation: 'POST /v1/policies' },
        { key: 'RUN-77/refund-1' },
      ]) {
        expect(await reopened.idempotency.get({ ...record, ...other }, instant(1))).toBeNull()
      }
    },
  },
  {
    title: 'keeps records of different keys, operations and names apart',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const overs = [{}, { key_id: idOf('key', 2) }, { operation: 'POST /v1/policies' }, { key: '' }]
      const attempts = overs.map((over, number) => attempt(number, 0, 300, over))
      expect(await pen.commit(...attempts.map(({ draft }) => draft))).toEqual({ written: 4, conflict: null })
      for (const { record } of attempts) expect(await store.idempotency.get(record, instant(1))).toStrictEqual(record)
    },
  },
  {
    title: 'lets a record count until its end and not at it',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const { record, draft } = attempt(1, 0, 300)
      await pen.commit(draft)
      expect(await store.idempotency.get(record, instant(DAY - 0.001))).toStrictEqual(record)
      expect(await store.idempotency.get(record, instant(DAY))).toBeNull()
      const early = attempt(2, DAY - 0.001, 300)
      expect(await pen.commit(early.draft)).toEqual({ written: 0, conflict: 'idempotency_key' })
      const late = attempt(3, DAY, 300)
      expect(await pen.commit(late.draft)).toEqual({ written: 1, conflict: null })
      expect(await store.idempotency.get(record, instant(DAY))).toStrictEqual(late.record)
    },
  },
  {
    title: 'lets a record count as long as its decision is open, however old it is',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const { record, draft } = attempt(1, 0, 3 * DAY)
      await pen.commit(draft)
      await store.idempotency.purge(instant(2 * DAY))
      expect(await pen.commit(attempt(2, 2 * DAY, 300).draft)).toEqual({ written: 0, conflict: 'idempotency_key' })
      const reopened = await reopen()
      expect(await reopened.idempotency.get(record, instant(3 * DAY - 0.001))).toStrictEqual(record)
      expect(await reopened.idempotency.get(record, instant(3 * DAY))).toBeNull()
      const again = attempt(3, 3 * DAY, 300)
      expect(await (await LogPen.of(reopened)).commit(again.draft)).toEqual({ written: 1, conflict: null })
    },
  },
  ...ENDS.map(
    (status): StoreCase => ({
      title: `frees an old name once its decision is ${status}`,
      async run({ store }) {
        const pen = await LogPen.of(store)
        const { record, decision, draft } = attempt(1, 0, 3 * DAY)
        await pen.commit(draft, updateOf(decision, { status }))
        expect(await store.idempotency.get(record, instant(DAY - 1))).toStrictEqual(record)
        expect(await store.idempotency.get(record, instant(2 * DAY))).toBeNull()
        expect(await pen.commit(attempt(2, 2 * DAY, 300).draft)).toEqual({ written: 1, conflict: null })
      },
    }),
  ),
  ...(['authorized', 'awaiting_review', 'approved'] as const).map(
    (status): StoreCase => ({
      title: `keeps an old name while its decision is ${status}`,
      async run({ store }) {
        const pen = await LogPen.of(store)
        const { record, decision, draft } = attempt(1, 0, 3 * DAY)
        await pen.commit(draft, updateOf(decision, { status }))
        expect(await store.idempotency.get(record, instant(2 * DAY))).toStrictEqual(record)
        expect(await pen.commit(attempt(2, 2 * DAY, 300).draft)).toEqual({ written: 0, conflict: 'idempotency_key' })
      },
    }),
  ),
  {
    title: 'frees an old name whose subject is no decision',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const policy = policyOf(1, 1)
      const record = idempotencyOf(policy.id, { operation: 'POST /v1/policies', status: 201 })
      await pen.commit({ change: writePolicyOf(policy), idempotency: record })
      expect(await store.idempotency.get(record, instant(DAY - 1))).toStrictEqual(record)
      expect(await store.idempotency.get(record, instant(DAY))).toBeNull()
    },
  },
  {
    title: 'refuses the second of two records with one name in a group',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const [one, other] = [attempt(1, 0, 300), attempt(2, 0, 300)]
      expect(await pen.commit(one.draft, other.draft)).toEqual({ written: 1, conflict: 'idempotency_key' })
      expect(await store.decisions.get(other.decision.id)).toBeNull()
      expect(await store.idempotency.get(one.record, instant(1))).toStrictEqual(one.record)
    },
  },
  {
    title: 'purges what no longer counts and nothing else',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const over = attempt(1, 0, 300, { key: 'over' })
      const open = attempt(2, 0, 3 * DAY, { key: 'open' })
      const young = attempt(3, DAY, 300, { key: 'young' })
      await pen.commit(over.draft, open.draft, young.draft)
      expect(await store.idempotency.purge(instant(1.5 * DAY))).toBeGreaterThan(0)
      expect(await store.idempotency.purge(instant(1.5 * DAY))).toBe(0)
      // Asked as of a time when it still counted, so that only its removal can hide it.
      expect(await store.idempotency.get(over.record, instant(1))).toBeNull()
      expect(await store.idempotency.get(open.record, instant(1))).toStrictEqual(open.record)
      expect(await store.idempotency.get(young.record, instant(1))).toStrictEqual(young.record)
      expect(await store.decisions.get(over.decision.id)).not.toBeNull()
    },
  },
]
