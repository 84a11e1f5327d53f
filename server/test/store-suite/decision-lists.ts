import type { DecisionStatus } from '@countersign/contract'
import { expect } from 'vitest'
import type { DecisionFilter } from '#server/ports/store/decisions'
import type { StoredDecision } from '#server/ports/store/documents'
import type { Store } from '#server/ports/store/store'
import { createOf, decisionOf, idOf, instant, LogPen, reviewOf, TTL } from './documents.js'
import { type StoreCase, WHOLE, walk } from './store-case.js'

const NUMBERS_TO_30 = [...Array(30).keys()]

const traceOf = (number: number) => String(number).padStart(32, '0')

/** Thirty decisions, so that each filter takes some and leaves some. */
function variousOf(number: number): StoredDecision {
  return decisionOf(number, {
    agent_id: `agent:${number % 3}`,
    action: number % 4 === 0 ? 'payment.refund' : 'email.send',
    resource: number % 5 === 0 ? null : `order:${number % 5}`,
    effect: number % 2 === 0 ? 'allow' : 'deny',
    status: number % 2 === 0 ? 'authorized' : 'denied',
    policy_id: idOf('pol', number % 6),
    request_hash: `hash-${number % 7}`,
    ...(number % 8 !== 0 && { trace_id: traceOf(number % 8) }),
  })
}

async function withVarious(store: Store): Promise<readonly StoredDecision[]> {
  const decisions = NUMBERS_TO_30.map(variousOf)
  await (await LogPen.of(store)).commit(...decisions.map((decision) => createOf(decision)))
  return decisions
}

async function idsOf(store: Store, filter: Partial<DecisionFilter>, limit = WHOLE.limit): Promise<readonly string[]> {
  const whole = { agents: null, now: instant(0), ...filter }
  return (await walk(limit, (page) => store.decisions.list(whole, page))).map(({ decision }) => decision.id)
}

function newestFirst(decisions: readonly StoredDecision[]): readonly string[] {
  return decisions.map(({ id }) => id).reverse()
}

interface FilterExample {
  readonly filter: Partial<DecisionFilter>
  readonly takes: (decision: StoredDecision, number: number) => boolean
}

const FILTERS: readonly FilterExample[] = [
  { filter: { agent_id: 'agent:1' }, takes: (one) => one.agent_id === 'agent:1' },
  { filter: { action: 'payment.refund' }, takes: (one) => one.action === 'payment.refund' },
  { filter: { resource: 'order:2' }, takes: (one) => one.resource === 'order:2' },
  { filter: { effect: 'deny' }, takes: (one) => one.effect === 'deny' },
  { filter: { policy_id: idOf('pol', 4) }, takes: (one) => one.policy_id === idOf('pol', 4) },
  { filter: { request_hash: 'hash-3' }, takes: (one) => one.request_hash === 'hash-3' },
  { filter: { trace_id: traceOf(3) }, takes: (one) => one.trace_id === traceOf(3) },
  { filter: { trace_id: traceOf(0) }, takes: () => false },
  {
    filter: { trace_id: traceOf(1), agents: ['agent:0'], from: instant(2) },
    takes: (one, number) => one.trace_id === traceOf(1) && one.agent_id === 'agent:0' && number >= 2,
  },
  { filter: { status: 'denied' }, takes: (one) => one.status === 'denied' },
  { filter: { from: instant(10) }, takes: (_, number) => number >= 10 },
  { filter: { to: instant(10) }, takes: (_, number) => number < 10 },
  { filter: { from: instant(10), to: instant(20) }, takes: (_, number) => number >= 10 && number < 20 },
  { filter: { from: instant(9.999), to: instant(10.001) }, takes: (_, number) => number === 10 },
  { filter: { from: instant(20), to: instant(10) }, takes: () => false },
  { filter: { agents: ['agent:2', 'agent:0'] }, takes: (one) => one.agent_id !== 'agent:1' },
  { filter: { agents: [] }, takes: () => false },
  {
    filter: {
      agent_id: 'agent:1',
      action: 'email.send',
      effect: 'deny',
      agents: ['*'],
      from: instant(3),
      to: instant(20),
    },
    takes: (one, number) =>
      one.agent_id === 'agent:1' && one.action === 'email.send' && one.effect === 'deny' && number >= 3 && number < 20,
  },
  { filter: { agent_id: 'agent:1', agents: ['agent:2'] }, takes: () => false },
  {
    filter: { resource: 'order:2', request_hash: 'hash-2', policy_id: idOf('pol', 2) },
    takes: (one) => one.resource === 'order:2' && one.request_hash === 'hash-2' && one.policy_id === idOf('pol', 2),
  },
]

const filterCases = FILTERS.map(
  ({ filter, takes }): StoreCase => ({
    title: `lists decisions by ${JSON.stringify(filter)}`,
    async run({ store }) {
      const decisions = await withVarious(store)
      const expected = newestFirst(decisions.filter(takes))
      for (const limit of [1, 3, 200]) expect(await idsOf(store, filter, limit)).toEqual(expected)
    },
  }),
)

/** What `*` alone makes special, and how each agent id then matches. */
const PATTERNS: readonly (readonly [pattern: string, matching: readonly string[]])[] = [
  ['*', ['a', 'a*b', 'a.b', 'agent:7', 'agent:77', 'aXb', 'Agent:7', 'a[b]']],
  ['agent:7', ['agent:7']],
  ['agent:*', ['agent:7', 'agent:77']],
  ['*7', ['agent:7', 'agent:77', 'Agent:7']],
  ['*7*7', ['agent:77']],
  ['a*b', ['a*b', 'a.b', 'aXb']],
  ['a.b', ['a.b']],
  ['a?b', []],
  ['a_b', []],
  ['a[b]', ['a[b]']],
  ['a%', []],
  ['[a]*', []],
  ['a**', ['a', 'a*b', 'a.b', 'agent:7', 'agent:77', 'aXb', 'a[b]']],
  ['**', ['a', 'a*b', 'a.b', 'agent:7', 'agent:77', 'aXb', 'Agent:7', 'a[b]']],
  ['', []],
]

async function commitAgents(store: Store, agents: readonly string[]): Promise<void> {
  const pen = await LogPen.of(store)
  await pen.commit(...agents.map((agent_id, number) => createOf(decisionOf(number, { agent_id }))))
}

/** Each written status and what it is called just before and at `expires_at`. */
const STATUSES: readonly (readonly [written: DecisionStatus, before: DecisionStatus, at: DecisionStatus])[] = [
  ['authorized', 'authorized', 'expired'],
  ['awaiting_review', 'awaiting_review', 'expired'],
  ['approved', 'approved', 'expired'],
  ['denied', 'denied', 'denied'],
  ['declined', 'declined', 'declined'],
  ['confirmed', 'confirmed', 'confirmed'],
  ['rejected', 'rejected', 'rejected'],
  ['expired', 'expired', 'expired'],
]

export const DECISION_LIST_CASES: readonly StoreCase[] = [
  ...filterCases,
  {
    title: 'lists decisions newest first: by time and then by id, whatever the order of writing',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const numbers = [4, 1, 3, 0, 2]
      for (const number of numbers) await pen.commit(createOf(decisionOf(number, { evaluated_at: instant(0) })))
      await pen.commit(createOf(decisionOf(9, { evaluated_at: instant(-1) })))
      const expected = [4, 3, 2, 1, 0, 9].map((number) => idOf('dec', number))
      for (const limit of [1, 2, 4, 200]) expect(await idsOf(store, {}, limit)).toEqual(expected)
    },
  },
  {
    title: 'gives each listed decision with its request',
    async run({ store }) {
      const decisions = await withVarious(store)
      const { items } = await store.decisions.list({ agents: null, now: instant(0) }, { limit: 2, after: null })
      expect(items).toStrictEqual(
        await Promise.all([29, 28].map((number) => store.decisions.get(decisions[number]?.id ?? ''))),
      )
    },
  },
  {
    title: 'has no page after one that is exactly full',
    async run({ store }) {
      await withVarious(store)
      const filter = { agents: null, now: instant(0) }
      expect((await store.decisions.list(filter, { limit: 30, after: null })).next).toBeNull()
      expect((await store.decisions.list(filter, { limit: 29, after: null })).next).not.toBeNull()
    },
  },
  {
    title: 'lists nothing in an empty store',
    async run({ store }) {
      const empty = { items: [], next: null }
      expect(await store.decisions.list({ agents: null, now: instant(0) }, WHOLE)).toEqual(empty)
      expect(await store.decisions.list({ agents: ['*'], status: 'expired', now: instant(0) }, WHOLE)).toEqual(empty)
    },
  },
  {
    title: 'lists by the status that follows from the clock, exact to the instant of expiry',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const decisions = STATUSES.map(([status], number) => decisionOf(number, { status, expires_at: instant(TTL) }))
      await pen.commit(...decisions.map((decision) => createOf(decision)))
      for (const [, status] of STATUSES) {
        const before = STATUSES.flatMap(([, before], number) => (before === status ? [idOf('dec', number)] : []))
        const at = STATUSES.flatMap(([, , at], number) => (at === status ? [idOf('dec', number)] : []))
        expect(await idsOf(store, { status, now: instant(TTL - 0.001) }, 1)).toEqual(before.reverse())
        expect(await idsOf(store, { status, now: instant(TTL) }, 1)).toEqual(at.reverse())
        expect(await idsOf(store, { status, now: instant(TTL + 1) })).toEqual(at)
      }
    },
  },
  {
    title: 'keeps to the agents of a bound key, where * is any run and nothing else is special',
    async run({ store }) {
      const agents = ['a', 'a*b', 'a.b', 'agent:7', 'agent:77', 'aXb', 'Agent:7', 'a[b]']
      await commitAgents(store, agents)
      for (const [pattern, matching] of PATTERNS) {
        const { items } = await store.decisions.list({ agents: [pattern], now: instant(0) }, WHOLE)
        expect([pattern, items.map(({ decision }) => decision.agent_id).sort()]).toEqual([
          pattern,
          [...matching].sort(),
        ])
      }
    },
  },
  {
    title: 'answers in time however hostile the patterns of a key',
    async run({ store }) {
      const agents = [...Array(200).keys()].map((number) => `${'a'.repeat(250)}${number}`)
      await commitAgents(store, agents)
      const patterns = [`${'*a'.repeat(127)}*b`, `*${'a'.repeat(254)}b`.slice(0, 256), `${'a*'.repeat(127)}b`]
      expect(await idsOf(store, { agents: patterns })).toEqual([])
      expect(await idsOf(store, { agents: [...patterns, `${'*a'.repeat(127)}*`] })).toHaveLength(200)
    },
  },
  {
    title: 'takes the text of a filter for nothing but a text',
    async run({ store }) {
      await withVarious(store)
      for (const text of ["' OR 1=1 --", '*', '%', 'agent:_', '', '{"$ne":null}', 'agent:1\u0000', '\ud800']) {
        for (const member of ['agent_id', 'action', 'resource', 'policy_id', 'request_hash'] as const) {
          expect(await idsOf(store, { [member]: text })).toEqual([])
        }
      }
    },
  },
  {
    title: 'pages without a repetition or a gap while decisions are written',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const old = NUMBERS_TO_30.map((number) => decisionOf(number))
      await pen.commit(...old.map((decision) => createOf(decision)))
      let next = 100
      const seen = await walk(4, async (page) => {
        const result = await store.decisions.list({ agents: ['agent:*'], now: instant(0) }, page)
        await pen.commit(createOf(decisionOf(next)), createOf(decisionOf(next + 1, { agent_id: 'other' })))
        next += 2
        return result
      })
      expect(seen.map(({ decision }) => decision.id)).toEqual(newestFirst(old))
    },
  },
  {
    title: 'finds the few among many, page by page',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const many = [...Array(3000).keys()].map((number) => {
        const isRare = number % 700 === 3
        return isRare ? reviewOf(number, { agent_id: `rare:${number}` }) : decisionOf(number)
      })
      await pen.commit(...many.map((decision) => createOf(decision)))
      const rare = newestFirst(many.filter(({ effect }) => effect === 'review'))
      for (const limit of [1, 2, 5, 200]) {
        expect(await idsOf(store, { effect: 'review' }, limit)).toEqual(rare)
        expect(await idsOf(store, { agents: ['rare:*'] }, limit)).toEqual(rare)
        expect(await idsOf(store, { status: 'awaiting_review' }, limit)).toEqual(rare)
        expect(await idsOf(store, { action: 'payment.refund', effect: 'review' }, limit)).toEqual(rare)
      }
      expect(await idsOf(store, {}, 200)).toEqual(newestFirst(many))
      expect(await idsOf(store, { agents: ['agent:support-*'], from: instant(100) }, 200)).toHaveLength(2900 - 4)
    },
  },
]
