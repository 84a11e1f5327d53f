import { expect } from 'vitest'
import type { AccountFilter } from '#server/ports/store/accounts'
import type { Posting, StoredAccount } from '#server/ports/store/documents'
import type { Store } from '#server/ports/store/store'
import { accountOf, createOf, decisionOf, heldIn, idOf, LogPen, releasedIn, spentIn, updateOf } from './documents.js'
import { type StoreCase, WHOLE, walk } from './store-case.js'

const DAYS = ['2026-11-20T00:00:00.000Z', '2026-11-21T00:00:00.000Z', null] as const

/** Thirty postings, each in an account of its own, so that each filter takes some and leaves some. */
function variousOf(number: number): Posting {
  const starts_at = DAYS[number % 3] ?? null
  const account = accountOf({
    policy_id: idOf('pol', number % 2),
    unit: number % 4 === 0 ? 'calls' : 'eur',
    period: starts_at === null ? 'total' : 'daily',
    starts_at,
    agent_id: number % 5 === 0 ? null : `agent:${number % 5}`,
  })
  return number % 7 === 0 ? spentIn(account, 9n) : heldIn(account, 5n)
}

/** As a list shows it. */
function rowOf({ account, spent, reserved }: Posting): StoredAccount {
  return { ...account, spent, reserved }
}

/** In the order in which they are opened, newest first. */
async function withVarious(store: Store): Promise<readonly StoredAccount[]> {
  const pen = await LogPen.of(store)
  const postings = [...Array(30).keys()].map(variousOf)
  await pen.commit(...postings.map((posting, number) => createOf(decisionOf(number, { postings: [posting] }))))
  return postings.map(rowOf).toReversed()
}

async function rowsOf(store: Store, filter: Partial<AccountFilter>, limit = WHOLE.limit): Promise<StoredAccount[]> {
  return walk(limit, (page) => store.accounts.list({ agents: null, ...filter }, page))
}

interface FilterExample {
  readonly filter: Partial<AccountFilter>
  readonly takes: (account: StoredAccount) => boolean
}

const FILTERS: readonly FilterExample[] = [
  { filter: { policy_id: idOf('pol', 1) }, takes: (one) => one.policy_id === idOf('pol', 1) },
  { filter: { unit: 'calls' }, takes: (one) => one.unit === 'calls' },
  { filter: { period: 'total' }, takes: (one) => one.period === 'total' },
  { filter: { starts_at: DAYS[0] }, takes: (one) => one.starts_at === DAYS[0] },
  { filter: { starts_at: null }, takes: (one) => one.starts_at === null },
  { filter: { scope: 'policy' }, takes: (one) => one.agent_id === null },
  { filter: { scope: 'agent' }, takes: (one) => one.agent_id !== null },
  { filter: { is_reserved: true }, takes: (one) => one.reserved !== '0' },
  {
    filter: { policy_id: idOf('pol', 1), unit: 'eur', period: 'daily', starts_at: DAYS[0] },
    takes: (one) => one.policy_id === idOf('pol', 1) && one.unit === 'eur' && one.starts_at === DAYS[0],
  },
  {
    filter: { policy_id: idOf('pol', 0), unit: 'eur', period: 'total', starts_at: null, scope: 'agent' },
    takes: (one) =>
      one.policy_id === idOf('pol', 0) && one.unit === 'eur' && one.starts_at === null && one.agent_id !== null,
  },
  {
    filter: { policy_id: idOf('pol', 0), is_reserved: true, scope: 'agent', agents: ['agent:1', '*4'] },
    takes: (one) =>
      one.policy_id === idOf('pol', 0) &&
      one.reserved !== '0' &&
      (one.agent_id === 'agent:1' || one.agent_id === 'agent:4'),
  },
  { filter: { agents: ['agent:2'] }, takes: (one) => one.agent_id === null || one.agent_id === 'agent:2' },
  { filter: { agents: [] }, takes: (one) => one.agent_id === null },
  { filter: { agents: [], scope: 'agent' }, takes: () => false },
  { filter: { unit: 'EUR' }, takes: () => false },
  { filter: { policy_id: "' OR 1=1 --" }, takes: () => false },
]

const filterCases = FILTERS.map(
  ({ filter, takes }): StoreCase => ({
    title: `lists accounts by ${JSON.stringify(filter)}`,
    async run({ store, reopen }) {
      const expected = (await withVarious(store)).filter(takes)
      for (const limit of [1, 3, 200]) expect(await rowsOf(store, filter, limit)).toEqual(expected)
      expect(await rowsOf(await reopen(), filter)).toStrictEqual(expected)
    },
  }),
)

export const ACCOUNT_CASES: readonly StoreCase[] = [
  ...filterCases,
  {
    title: 'lists accounts newest opened first, however they are moved afterwards',
    async run({ store }) {
      const expected = await withVarious(store)
      for (const limit of [1, 7, 30, 200]) expect(await rowsOf(store, {}, limit)).toEqual(expected)
      const [first, last] = [expected.at(-1), expected[0]]
      if (first === undefined || last === undefined) return expect.unreachable()
      await (await LogPen.of(store)).commit(createOf(decisionOf(50, { postings: [heldIn(first, 1n)] })))
      const moved = { ...first, reserved: String(BigInt(first.reserved) + 1n) }
      expect(await rowsOf(store, {})).toEqual([...expected.slice(0, -1), moved])
      const opened = heldIn(accountOf({ agent_id: 'agent:last' }), 1n)
      await (await LogPen.of(store)).commit(createOf(decisionOf(51, { postings: [opened] })))
      expect(await rowsOf(store, {})).toEqual([rowOf(opened), ...expected.slice(0, -1), moved])
    },
  },
  {
    title: 'lists an account from the first decision on that counts there, be it for nothing',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const account = accountOf()
      await pen.commit(createOf(decisionOf(1, { postings: [heldIn(account, 0n)] })))
      expect(await rowsOf(store, {})).toEqual([{ ...account, spent: '0', reserved: '0' }])
      expect(await rowsOf(store, { is_reserved: true })).toEqual([])
    },
  },
  {
    title: 'lists an account as reserved as long as it is',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const account = accountOf()
      const isListed = async () => (await rowsOf(store, { is_reserved: true })).length === 1
      let decision = decisionOf(1, { postings: [heldIn(account, 5n)] })
      await pen.commit(createOf(decision))
      expect(await isListed()).toBe(true)
      for (const postings of [[spentIn(account, 5n)], [heldIn(account, 5n)], [releasedIn(account, 5n)]]) {
        const update = updateOf(decision, { postings })
        await pen.commit(update)
        decision = update.decision
        expect(await isListed()).toBe(postings[0]?.reserved === '5')
      }
    },
  },
  {
    title: 'pages accounts without a repetition or a gap while others are opened',
    async run({ store }) {
      const old = await withVarious(store)
      const pen = await LogPen.of(store)
      let next = 100
      const seen = await walk(4, async (page) => {
        const result = await store.accounts.list({ agents: null }, page)
        const account = accountOf({ agent_id: `agent:${next}` })
        await pen.commit(createOf(decisionOf(next++, { postings: [heldIn(account, 1n)] })))
        return result
      })
      expect(seen).toEqual(old)
      expect(await rowsOf(store, {})).toHaveLength(next - 100 + old.length)
    },
  },
  {
    title: 'finds the few accounts among many, page by page',
    async run({ store }) {
      const pen = await LogPen.of(store)
      const agents = [...Array(1500).keys()].map((number) =>
        number % 400 === 3 ? `rare/${number}` : `agent:${number}`,
      )
      await pen.commit(
        ...agents.map((agent_id, number) =>
          createOf(
            decisionOf(number, { postings: [(number % 400 === 3 ? heldIn : spentIn)(accountOf({ agent_id }), 1n)] }),
          ),
        ),
      )
      const rare = agents.filter((agent) => agent.startsWith('rare')).sort()
      const agentsOf = async (filter: Partial<AccountFilter>, limit: number) =>
        (await rowsOf(store, filter, limit)).map(({ agent_id }) => agent_id).sort()
      for (const limit of [1, 2, 200]) {
        expect(await agentsOf({ agents: ['rare/*'] }, limit)).toEqual(rare)
        expect(await agentsOf({ is_reserved: true }, limit)).toEqual(rare)
        const form = {
          policy_id: accountOf().policy_id,
          unit: 'eur',
          period: 'daily',
          starts_at: accountOf().starts_at,
        } as const
        expect(await agentsOf({ ...form, is_reserved: true, agents: ['*'] }, limit)).toEqual(rare)
      }
      expect(await rowsOf(store, { scope: 'agent' })).toHaveLength(agents.length)
    },
  },
]
