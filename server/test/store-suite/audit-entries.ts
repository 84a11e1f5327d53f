import type { AuditEntry } from '@countersign/contract'
import { expect } from 'vitest'
import type { AuditFilter } from '#server/ports/store/audit'
import type { Store } from '#server/ports/store/store'
import { createOf, decisionOf, idOf, instant, LogPen } from './documents.js'
import { type StoreCase, WHOLE, walk } from './store-case.js'

const entryOnly = { kind: 'entry.only' } as const

async function indexesOf(store: Store, filter: AuditFilter, limit = WHOLE.limit): Promise<readonly number[]> {
  return (await walk(limit, (page) => store.audit.list(filter, page))).map(({ index }) => index)
}

/** Thirty entries; index, time and id rise together. */
async function withThirty(store: Store): Promise<readonly number[]> {
  const numbers = [...Array(30).keys()]
  const overs = numbers.map((number) => ({
    type: number % 2 === 0 ? ('policy.created' as const) : ('decision.created' as const),
    subject: `subject-${number % 5}`,
    agent_id: number % 3 === 0 ? null : `agent:${number % 3}`,
  }))
  await (await LogPen.of(store)).commit(...overs.map((entry) => ({ change: entryOnly, entry })))
  return numbers
}

interface FilterExample {
  readonly filter: AuditFilter
  readonly takes: (index: number) => boolean
}

const FILTERS: readonly FilterExample[] = [
  { filter: {}, takes: () => true },
  { filter: { type: 'policy.created' }, takes: (index) => index % 2 === 0 },
  { filter: { subject: 'subject-3' }, takes: (index) => index % 5 === 3 },
  { filter: { agent_id: 'agent:2' }, takes: (index) => index % 3 === 2 },
  { filter: { from: instant(10) }, takes: (index) => index >= 10 },
  { filter: { to: instant(10) }, takes: (index) => index < 10 },
  {
    filter: { type: 'decision.created', agent_id: 'agent:1', subject: 'subject-2', from: instant(7), to: instant(29) },
    takes: (index) => index % 2 === 1 && index % 3 === 1 && index % 5 === 2 && index >= 7 && index < 29,
  },
  { filter: { type: "' OR 1=1 --" }, takes: () => false },
  { filter: { subject: '*' }, takes: () => false },
]

export const AUDIT_CASES: readonly StoreCase[] = [
  ...FILTERS.map(
    ({ filter, takes }): StoreCase => ({
      title: `lists audit entries by ${JSON.stringify(filter)}`,
      async run({ store }) {
        const numbers = await withThirty(store)
        const expected = numbers.filter(takes).reverse()
        for (const limit of [1, 4, 200]) expect(await indexesOf(store, filter, limit)).toEqual(expected)
      },
    }),
  ),
  {
    title: 'gives back an entry as it was written, to the last bit',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const entry: AuditEntry = {
        id: idOf('aud', 7),
        log: pen.log,
        index: 0,
        at: instant(7),
        type: 'decision.created',
        actor: null,
        subject: idOf('dec', 7),
        agent_id: null,
        data: { tiny: 1e-7, largest: Number.MAX_SAFE_INTEGER, $where: [null, '☃ 𝄞 \u0000'], nested: { empty: {} } },
        leaf: 'leaf',
      }
      await pen.commit({ change: createOf(decisionOf(7)), entry })
      expect((await (await reopen()).audit.list({}, WHOLE)).items).toStrictEqual([entry])
    },
  },
  {
    title: 'lists nothing in an empty log',
    async run({ store }) {
      expect(await store.audit.list({}, WHOLE)).toEqual({ items: [], next: null })
    },
  },
  {
    title: 'knows which positions of its log are filled, and begins another log when it is told to',
    async run({ store, reopen }) {
      const { log } = await LogPen.of(store)
      expect(await store.audit.has({ log, index: 0 })).toBe(false)
      await withThirty(store)
      const again = await reopen()
      const filled = [0, 29, 30].map((index) => again.audit.has({ log, index }))
      expect(await Promise.all([...filled, again.audit.has({ log: 'another', index: 0 })])).toEqual([
        ...[true, true, false],
        false,
      ])
      expect(await again.isRestored()).toBe(false)
      await again.leaveLogs()
      expect(await again.isRestored()).toBe(false)
      const next = await again.openLog()
      expect(next.log).not.toBe(log)
      expect(next.next_index).toBe(0)
      expect(await again.audit.has({ log, index: 29 })).toBe(true)
    },
  },
  {
    title: 'pages through the log without a repetition or a gap while it grows',
    async run({ store }) {
      const numbers = await withThirty(store)
      const pen = await LogPen.of(store)
      const seen = await walk(4, async (page) => {
        const result = await store.audit.list({}, page)
        await pen.commit(entryOnly, entryOnly)
        return result
      })
      expect(seen.map(({ index }) => index)).toEqual(numbers.toReversed())
    },
  },
]
