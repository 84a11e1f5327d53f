/** Stores that break one promise each on top of a sound one, with the case of the suite that has to notice. */
import type { AccountKey } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import type { DecisionWithRequest } from '#server/ports/store/decisions'
import type { StoredDecision } from '#server/ports/store/documents'
import type { Balance, Ledger } from '#server/ports/store/ledger'
import type { Page } from '#server/ports/store/page'
import type { Mutation, Store } from '#server/ports/store/store'
import { instant } from './documents.js'
import { ERASURE_SABOTAGES } from './erasure-sabotages.js'
import { FEED_SABOTAGES } from './feed-sabotages.js'
import { altered, earlier, later, type Sabotage } from './sabotage.js'
import { type OpenedStore, WHOLE } from './store-case.js'
import { STORE_CASES } from './suite.js'

const SABOTAGES: readonly Sabotage[] = [
  {
    what: 'loses the last mutation of a group',
    broken: (sound) => ({
      async commit(mutations) {
        await sound.commit(mutations.slice(0, -1))
        return { written: mutations.length, conflict: null }
      },
    }),
    caughtBy: 'writes a group whole',
  },
  {
    what: 'acknowledges a commit before it is written',
    broken: (sound) => ({
      async commit(mutations) {
        void sound.commit(mutations).catch(() => {})
        return { written: mutations.length, conflict: null }
      },
    }),
    caughtBy: 'lets reads see a commit as soon as it has resolved',
  },
  {
    what: 'applies the mutations after a conflict',
    broken: (sound) => ({
      async commit(mutations) {
        const result = await sound.commit(mutations)
        if (result.conflict !== null) await sound.commit(movedBack(mutations.slice(result.written + 1)))
        return result
      },
    }),
    caughtBy: 'keeps what is before a decision whose id is taken at the first position',
  },
  {
    what: 'says that nothing of a group with a conflict was written',
    broken: (sound) => ({
      async commit(mutations) {
        const result = await sound.commit(mutations)
        return result.conflict === null ? result : { ...result, written: 0 }
      },
    }),
    caughtBy: 'keeps what is before a decision whose id is taken at the last position',
  },
  {
    what: 'ignores expected_version',
    broken: (sound) => ({
      async commit(mutations) {
        const forced = await Promise.all(mutations.map((mutation) => atPresentVersion(sound, mutation)))
        return sound.commit(forced)
      },
    }),
    caughtBy: 'lets one of two writers win',
  },
  {
    what: 'writes the entry of a mutation whose change met a conflict',
    broken: (sound) => ({
      async commit(mutations) {
        const result = await sound.commit(mutations)
        const met = mutations[result.written]
        if (result.conflict === 'version' && met !== undefined) {
          await sound.commit([{ ...met, change: { kind: 'entry.only' }, idempotency: null }])
        }
        return result
      },
    }),
    caughtBy: 'keeps what is before a key that is there at the first position',
  },
  {
    what: 'writes a change without its idempotency record',
    broken: (sound) => ({
      commit: (mutations) => sound.commit(mutations.map((mutation) => ({ ...mutation, idempotency: null }))),
    }),
    caughtBy: 'writes a change and its entry and its idempotency record together',
  },
  {
    what: 'measures reviews that are just over',
    broken: (sound) => ({ decisions: { measureReviews: (now) => sound.decisions.measureReviews(earlier(now)) } }),
    caughtBy: 'measures the open reviews',
  },
  {
    what: 'starts the log from zero',
    broken: (sound) => ({
      async openLog() {
        return { ...(await sound.openLog()), next_index: 0 }
      },
    }),
    caughtBy: 'continues one log without a gap over restarts',
  },
  {
    what: 'takes each position of a log for filled',
    broken: () => ({ audit: { has: async () => true } }),
    caughtBy: 'knows which positions of its log are filled',
  },
  {
    what: 'does not find what is in the log',
    broken: () => ({ audit: { has: async () => false } }),
    caughtBy: 'knows which positions of its log are filled',
  },
  {
    what: 'goes on with a log that was left',
    broken: () => ({ leaveLogs: async () => {} }),
    caughtBy: 'knows which positions of its log are filled',
  },
  {
    what: 'reads a log from behind the index that was asked for',
    broken: (sound) => ({ audit: { read: (log, from, ...room) => sound.audit.read(log, from + 1, ...room) } }),
    caughtBy: 'reads a log forward from any index',
  },
  {
    what: 'reads a log backward',
    broken: (sound) => ({ audit: { read: async (...asked) => (await sound.audit.read(...asked)).toReversed() } }),
    caughtBy: 'reads a log forward from any index',
  },
  {
    what: 'reads one entry more of a log than was asked for',
    broken: (sound) => ({
      audit: { read: (log, from, limit, bytes) => sound.audit.read(log, from, limit + 1, bytes) },
    }),
    caughtBy: 'reads a log forward from any index',
  },
  {
    what: 'reads the last entry of a log again and again',
    broken: (sound) => ({
      audit: {
        async read(log, from, ...room) {
          const found = await sound.audit.read(log, from, ...room)
          return found.length > 0 || from === 0 ? found : sound.audit.read(log, from - 1, ...room)
        },
      },
    }),
    caughtBy: 'reads nothing behind the end of a log',
  },
  {
    what: 'reads all logs as one',
    broken: (sound) => ({
      audit: {
        async read(_, from, limit) {
          const { items } = await sound.audit.list({}, { limit: 1000, after: null })
          return items.toReversed().slice(from, from + limit)
        },
      },
    }),
    caughtBy: 'reads one log and nothing of another',
  },
  {
    what: 'remembers where a log ended',
    broken: (sound) => {
      const known = new Map<string, ReturnType<Store['audit']['read']>>()
      return {
        audit: {
          read(log, from, ...room) {
            const name = `${log}/${from}`
            const answer = known.get(name) ?? sound.audit.read(log, from, ...room)
            known.set(name, answer)
            return answer
          },
        },
      }
    },
    caughtBy: 'reads an entry of a log as soon as its commit has resolved',
  },
  {
    what: 'reads entries that are not durable yet',
    broken: (sound) => {
      let leaving: readonly Mutation[] = []
      return {
        async commit(mutations) {
          leaving = mutations
          return sound.commit(mutations).finally(() => {
            leaving = []
          })
        },
        audit: {
          async read(log, from, limit) {
            const found = [...(await sound.audit.read(log, from, limit))]
            for (const { entry } of leaving) if (entry?.index === from + found.length) found.push(entry)
            return found.slice(0, limit)
          },
        },
      }
    },
    caughtBy: 'reads each entry of a log once that is written while',
  },
  {
    what: 'skips an entry of a log that comes later than the one behind it',
    broken: (sound) => {
      let late: number | undefined
      return {
        async commit(mutations) {
          const result = await sound.commit(mutations)
          if (result.written > 1) late = mutations[0]?.entry?.index
          return result
        },
        audit: {
          async read(...asked) {
            const found = await sound.audit.read(...asked)
            const there = found.length > 1 ? found.filter(({ index }) => index !== late) : found
            late = undefined
            return there
          },
        },
      }
    },
    caughtBy: 'reads each entry of a log once that is written while',
  },
  {
    what: 'bounds what it reads of a log by entries alone',
    broken: (sound) => ({ audit: { read: (log, from, limit) => sound.audit.read(log, from, limit) } }),
    caughtBy: 'ends what it reads of a log by bytes',
  },
  {
    what: 'answers reads from a memory that is never renewed',
    broken: (sound) => {
      const known = new Map<string, Promise<DecisionWithRequest | null>>()
      return {
        decisions: {
          get(id) {
            const remembered = known.get(id) ?? sound.decisions.get(id)
            known.set(id, remembered)
            return remembered
          },
        },
      }
    },
    caughtBy: 'lets reads see a commit as soon as it has resolved',
  },
  {
    what: 'rounds numbers',
    broken: (sound) => ({
      decisions: { get: async (id) => rounded(await sound.decisions.get(id)) },
    }),
    caughtBy: 'gives back a decision and its request as they were written',
  },
  {
    what: 'lets a decision live for the instant of its expiry',
    broken: (sound) => ({
      decisions: { list: (filter, page) => sound.decisions.list({ ...filter, now: earlier(filter.now) }, page) },
    }),
    caughtBy: 'lists by the status that follows from the clock',
  },
  {
    what: 'takes `to` for inclusive',
    broken: (sound) => ({
      decisions: {
        list: ({ to, ...filter }, page) =>
          sound.decisions.list(to === undefined ? filter : { ...filter, to: later(to) }, page),
      },
    }),
    caughtBy: 'lists decisions by {"to":',
  },
  {
    what: 'takes ? in a pattern for any character',
    broken: (sound) => ({
      decisions: {
        list: (filter, page) =>
          sound.decisions.list(
            { ...filter, agents: filter.agents?.map((pattern) => pattern.replaceAll('?', '*')) ?? null },
            page,
          ),
      },
    }),
    caughtBy: 'keeps to the agents of a bound key, where * is any run',
  },
  {
    what: 'pages by counting items',
    broken: (sound) => ({
      decisions: {
        async list(filter, { limit, after }): Promise<Page<DecisionWithRequest>> {
          const { items } = await sound.decisions.list(filter, { limit: 10_000, after: null })
          const end = Number(after ?? 0) + limit
          return { items: items.slice(end - limit, end), next: end < items.length ? String(end) : null }
        },
      },
    }),
    caughtBy: 'pages without a repetition or a gap while decisions are written',
  },
  {
    what: 'bounds a page by its rows alone',
    broken: (sound) => ({
      decisions: { list: (filter, { maxBytes: _, ...page }) => sound.decisions.list(filter, page) },
    }),
    caughtBy: 'fills pages of decisions by bytes',
  },
  {
    what: 'lists oldest first',
    broken: (sound) => ({
      decisions: {
        async list(filter, page) {
          const { items, next } = await sound.decisions.list(filter, page)
          return { items: items.toReversed(), next }
        },
      },
    }),
    caughtBy: 'lists decisions newest first',
  },
  {
    what: 'explains old sets with the policies of today',
    broken: (sound) => ({
      policies: { loadSet: async () => (await sound.policies.load()).policies },
    }),
    caughtBy: 'gives the policies that were live in each set',
  },
  {
    what: 'forgets an idempotency record by its age alone',
    broken: (sound) => ({
      idempotency: {
        async get(name, now) {
          const found = await sound.idempotency.get(name, now)
          return found !== null && now < found.expires_at ? found : null
        },
      },
    }),
    caughtBy: 'lets a record count as long as its decision is open',
  },
  {
    what: 'drops a reservation when its mutation leaves',
    broken: (sound) => ({
      async commit(mutations) {
        for (const name of reservationsOf(mutations)) await sound.ledger.release(name)
        return sound.commit(mutations)
      },
    }),
    caughtBy: 'counts a decision once at every moment while its mutation is written',
  },
  {
    what: 'keeps a reservation beside the postings of its mutation',
    broken: (sound) => ({
      commit: (mutations) => sound.commit(mutations.map(withoutReservation)),
    }),
    caughtBy: 'counts a decision once at every moment while its mutation is written',
  },
  {
    what: 'commits a reservation with new decisions only',
    broken: (sound) => ({
      commit: (mutations) =>
        sound.commit(
          mutations.map((mutation) =>
            mutation.change.kind === 'decision.update' ? withoutReservation(mutation) : mutation,
          ),
        ),
    }),
    caughtBy: 'commits a reservation with a later mutation of a decision',
  },
  {
    what: 'gives back twice what is released twice',
    broken: (sound) => {
      const reserved = new Map<string, Parameters<Ledger['reserve']>[0]>()
      const released = new Set<string>()
      return {
        ledger: {
          async reserve(request) {
            const answer = await sound.ledger.reserve(request)
            if (answer.reservation !== null) reserved.set(answer.reservation, request)
            return answer
          },
          async release(name) {
            await sound.ledger.release(name)
            const { demands } = reserved.get(name) ?? { demands: [] }
            if (released.has(name)) for (const { account, amount } of demands) await hold(sound, account, -amount)
            released.add(name)
          },
          balances: (accounts) => sound.ledger.balances(accounts),
        },
      }
    },
    caughtBy: 'gives a reservation back once that no mutation committed',
  },
  {
    what: 'gives back what a mutation committed',
    broken: (sound) => {
      const standing = new Map<string, StoredDecision['postings']>()
      return {
        async commit(mutations) {
          const result = await sound.commit(mutations)
          for (const { change } of mutations.slice(0, result.written)) {
            if (!('reservation' in change) || change.reservation === null) continue
            standing.set(change.reservation, change.decision.postings)
          }
          return result
        },
        ledger: {
          reserve: (request) => sound.ledger.reserve(request),
          balances: (accounts) => sound.ledger.balances(accounts),
          async release(name) {
            await sound.ledger.release(name)
            for (const { account, amount } of standing.get(name) ?? []) await hold(sound, account, -BigInt(amount))
            standing.delete(name)
          },
        },
      }
    },
    caughtBy: 'keeps what a mutation committed when its reservation is released',
  },
  {
    what: 'moves accounts by the new postings instead of the difference',
    broken: (sound) => ({
      async commit(mutations) {
        const result = await sound.commit(mutations)
        for (const { change } of mutations.slice(0, result.written)) {
          if (change.kind !== 'decision.update') continue
          for (const { account, amount } of change.decision.postings) await hold(sound, account, BigInt(amount))
        }
        return result
      },
    }),
    caughtBy: 'moves accounts by what a mutation changes of the postings before it',
  },
  {
    what: 'counts a mutation that met a conflict',
    broken: (sound) => ({
      async commit(mutations) {
        const result = await sound.commit(mutations)
        const met = result.conflict === null ? undefined : mutations[result.written]?.change
        const postings = met !== undefined && 'decision' in met ? met.decision.postings : []
        for (const { account, amount } of postings) await hold(sound, account, BigInt(amount))
        return result
      },
    }),
    caughtBy: 'counts nothing of a decision at another version',
  },
  {
    what: 'reserves in one account after the other, as far as there is room',
    broken: (sound) => ({
      ledger: {
        async reserve(request) {
          const { reservation, balances } = await sound.ledger.reserve(request)
          if (reservation !== null) return { reservation, balances }
          for (const demand of request.demands) {
            const one = await sound.ledger.reserve({ ...request, demands: [demand] })
            if (one.reservation === null) break
          }
          return { reservation, balances }
        },
        release: (name) => sound.ledger.release(name),
        balances: (accounts) => sound.ledger.balances(accounts),
      },
    }),
    caughtBy: 'takes every amount of a reservation or none',
  },
  {
    what: 'refuses a call for what it has reserved itself',
    broken: (sound) => ({
      ledger: {
        reserve: ({ call: _, ...request }) => sound.ledger.reserve(request),
        release: (name) => sound.ledger.release(name),
        balances: (accounts) => sound.ledger.balances(accounts),
      },
    }),
    caughtBy: 'does not refuse a call for what it has reserved itself',
  },
  {
    what: 'looks first and reserves later',
    broken: (sound) => ({
      ledger: {
        async reserve(request) {
          const balances = await sound.ledger.balances(request.demands.map(({ account }) => account))
          const hasRoom = request.demands.every(({ amount, limit }, i) => {
            const { spent, reserved } = balances[i] as Balance
            return limit === null || spent + reserved + amount <= limit
          })
          if (!hasRoom) return { reservation: null, balances }
          return sound.ledger.reserve({
            ...request,
            demands: request.demands.map((demand) => ({ ...demand, limit: null })),
          })
        },
        release: (name) => sound.ledger.release(name),
        balances: (accounts) => sound.ledger.balances(accounts),
      },
    }),
    caughtBy: 'gives the last room to one of those who ask for it at once',
  },
  {
    what: 'lets the limit itself be out of reach',
    broken: (sound) => ({
      ledger: {
        reserve: (request) =>
          sound.ledger.reserve({
            ...request,
            demands: request.demands.map(({ limit, ...demand }) => ({
              ...demand,
              limit: limit === null ? null : limit - 1n,
            })),
          }),
        release: (name) => sound.ledger.release(name),
        balances: (accounts) => sound.ledger.balances(accounts),
      },
    }),
    caughtBy: 'has room up to the limit exactly',
  },
  {
    what: 'counts in doubles',
    broken: (sound) => ({
      ledger: {
        reserve: (request) => sound.ledger.reserve(request),
        release: (name) => sound.ledger.release(name),
        async balances(accounts) {
          const balances = await sound.ledger.balances(accounts)
          return balances.map(({ spent, reserved }) => ({ spent: asDouble(spent), reserved: asDouble(reserved) }))
        },
      },
    }),
    caughtBy: 'counts exactly, also what no double and no 64 bits can hold',
  },
  {
    what: 'takes accounts of the same policy, unit and period for one, whatever agents they are of',
    broken: (sound) => ({
      accounts: {
        get: async (keys) => {
          const found = await sound.accounts.get(keys.map((key) => ({ ...key, agent_id: null })))
          return found.map((account, i) => ({ ...account, agent_id: keys[i]?.agent_id ?? null }))
        },
      },
    }),
    caughtBy: 'tells accounts apart by policy, unit, period, agent and start',
  },
  {
    what: 'hides the accounts of all agents together from a bound key',
    broken: (sound) => ({
      accounts: {
        async list(filter, page) {
          return sound.accounts.list(filter.agents === null ? filter : { ...filter, scope: 'agent' }, page)
        },
      },
    }),
    caughtBy: 'lists accounts by {"agents":["agent:2"]}',
  },
  {
    what: 'lets a decision be overdue only after its last instant',
    broken: (sound) => ({
      decisions: { listOverdue: (status, now, page) => sound.decisions.listOverdue(status, earlier(now), page) },
    }),
    caughtBy: 'names what is overdue by its status',
  },
  {
    what: 'names the last end of all approvals',
    broken: (sound) => ({
      decisions: {
        async firstApprovalEnd() {
          return (await sound.decisions.listOverdue('approved', instant(1e6), WHOLE)).items.at(-1)?.expires_at ?? null
        },
      },
    }),
    caughtBy: 'knows the first end of all approvals',
  },
  {
    what: 'makes a new secret at each call',
    broken: () => ({
      secret: async () => Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64url'),
    }),
    caughtBy: 'makes a secret of 256 bits',
  },
  {
    what: 'still answers after it was closed',
    broken: () => ({ ping: async () => {} }),
    caughtBy: 'refuses every call once it was closed',
  },
]

/** The same mutations, one position back in the log: the first takes that of the one that met a conflict. */
function movedBack(mutations: readonly Mutation[]): readonly Mutation[] {
  return mutations.map(({ entry, ...mutation }) => ({
    ...mutation,
    entry: entry === null ? null : { ...entry, index: entry.index - 1 },
  }))
}

function reservationsOf(mutations: readonly Mutation[]): readonly string[] {
  return mutations.flatMap(({ change }) =>
    'reservation' in change && change.reservation !== null ? [change.reservation] : [],
  )
}

function withoutReservation(mutation: Mutation): Mutation {
  return 'reservation' in mutation.change
    ? { ...mutation, change: { ...mutation.change, reservation: null } }
    : mutation
}

/** A reservation that nothing ends. */
async function hold(store: Store, account: AccountKey, amount: bigint): Promise<void> {
  await store.ledger.reserve({ decision_id: 'dec_none', version: 0, demands: [{ account, amount, limit: null }] })
}

function asDouble(amount: bigint): bigint {
  return BigInt(Number(amount))
}

async function atPresentVersion(store: Store, mutation: Mutation): Promise<Mutation> {
  const { change } = mutation
  if (change.kind !== 'decision.update') return mutation
  const version = (await store.decisions.get(change.decision.id))?.decision.version ?? 0
  const decision = { ...change.decision, version: version + 1 }
  return { ...mutation, change: { ...change, decision, expected_version: version } }
}

function rounded(found: DecisionWithRequest | null): DecisionWithRequest | null {
  const round = (_: string, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(15)) : value)
  return JSON.parse(JSON.stringify(found, round))
}

async function openBroken(
  open: () => Promise<OpenedStore>,
  { broken = () => ({}), brokenReads = () => ({}) }: Sabotage,
): Promise<OpenedStore> {
  const { store, reopen, openFeedReads, destroy } = await open()
  const breakStore = (sound: Store) => altered(sound, broken(sound))
  return {
    store: breakStore(store),
    reopen: async () => breakStore(await reopen()),
    async openFeedReads() {
      const sound = await openFeedReads()
      return altered(sound, brokenReads(sound))
    },
    destroy,
  }
}

/** Whether the one case whose title begins so fails on a store, as an assertion does. */
export async function expectCaught(open: () => Promise<OpenedStore>, caughtBy: string): Promise<void> {
  const cases = STORE_CASES.filter(({ title }) => title.startsWith(caughtBy))
  expect(cases).toHaveLength(1)
  const opened = await open()
  const caught = await cases[0]?.run(opened).then(
    () => null,
    (failure: unknown) => failure,
  )
  await opened.destroy()
  expect(caught).toMatchObject({ name: 'AssertionError' })
}

/** A suite is worth what it catches. */
export function sabotageSuite(name: string, open: () => Promise<OpenedStore>): void {
  describe(name, () => {
    it.each([...SABOTAGES, ...ERASURE_SABOTAGES, ...FEED_SABOTAGES])('$what', (sabotage) =>
      expectCaught(() => openBroken(open, sabotage), sabotage.caughtBy),
    )
  })
}
