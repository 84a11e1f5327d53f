/** Stores that hold on to requests which were erased, or name the wrong ones as held. */

import type { DecisionWithRequest, HeldRequestFilter } from '#server/ports/store/decisions'
import type { Page } from '#server/ports/store/page'
import type { Change, Mutation, Store } from '#server/ports/store/store'
import { type Altered, later, type Sabotage } from './sabotage.js'

type Created = Extract<Change, { readonly kind: 'decision.create' }>

/** Notes what a store creates. */
class Memory {
  readonly #created = new Map<string, Created>()

  constructor(private readonly sound: Store) {}

  readonly commit: Store['commit'] = (mutations) => {
    for (const { change } of mutations)
      if (change.kind === 'decision.create') this.#created.set(change.decision.id, change)
    return this.sound.commit(mutations)
  }

  /** What an erased decision was created as; nothing of one that is whole. */
  of({ decision: { id, request_erased_at } }: DecisionWithRequest): Created | undefined {
    return request_erased_at === undefined ? undefined : this.#created.get(id)
  }

  /** The id of a decision that was created with this hash. */
  byHash(hash: string | null): string | undefined {
    return [...this.#created.values()].find(({ decision }) => decision.request_hash === hash)?.decision.id
  }
}

/** A store that gives back something of erased requests. */
function givingBack(restore: (found: DecisionWithRequest, created: Created) => DecisionWithRequest) {
  return (sound: Store): Altered<Store> => {
    const memory = new Memory(sound)
    const restored = (found: DecisionWithRequest): DecisionWithRequest => {
      const created = memory.of(found)
      return created === undefined ? found : restore(found, created)
    }
    return {
      commit: memory.commit,
      decisions: {
        async get(id) {
          const found = await sound.decisions.get(id)
          return found && restored(found)
        },
        async list(filter, page) {
          const { items, next } = await sound.decisions.list(filter, page)
          return { items: items.map(restored), next }
        },
      },
    }
  }
}

/** A store that still finds erased decisions by a member of their requests. */
function findingBy(member: 'resource' | 'request_hash') {
  return (sound: Store): Altered<Store> => {
    const memory = new Memory(sound)
    return {
      commit: memory.commit,
      decisions: {
        async list({ [member]: wanted, ...filter }, page) {
          if (wanted === undefined) return sound.decisions.list(filter, page)
          const { items, next } = await sound.decisions.list(filter, page)
          const writtenAs = (found: DecisionWithRequest) => (memory.of(found) ?? found).decision
          return { items: items.filter((found) => writtenAs(found)[member] === wanted), next }
        },
      },
    }
  }
}

/** Lists with another filter, or as another page. */
function listing(altered: (filter: HeldRequestFilter) => HeldRequestFilter) {
  return (sound: Store): Altered<Store> => ({
    decisions: { listHeldRequests: (filter, page) => sound.decisions.listHeldRequests(altered(filter), page) },
  })
}

type HeldPage = Awaited<ReturnType<Store['decisions']['listHeldRequests']>>

function paged(items: HeldPage['items'], from: number, limit: number): HeldPage {
  const to = from + limit
  return { items: items.slice(from, to), next: to < items.length ? String(to) : null }
}

/** The same mutations, with decisions of which nothing is erased. */
function withoutErasures(mutations: readonly Mutation[]): readonly Mutation[] {
  return mutations.map((mutation) => {
    if (mutation.change.kind !== 'decision.update') return mutation
    const { erases_request: _, ...change } = mutation.change
    return { ...mutation, change }
  })
}

const ERASES = 'erases the request of a decision'
const LISTS = 'lists held requests the oldest first'
const PAGES = 'lists each held request once'
const FORGETS = 'forgets the fingerprint of the call that asked'

export const ERASURE_SABOTAGES: readonly Sabotage[] = [
  {
    what: 'writes that a request was erased, and keeps it',
    broken: (sound) => ({ commit: (mutations) => sound.commit(withoutErasures(mutations)) }),
    caughtBy: ERASES,
  },
  {
    what: 'keeps the context of an erased request',
    broken: givingBack(({ decision, request }, created) => {
      return { decision, request: { ...request, context: created.request.context } }
    }),
    caughtBy: ERASES,
  },
  {
    what: 'keeps the salt of an erased request',
    broken: givingBack(({ decision, request }, created) => {
      return { decision, request: { ...request, salt: created.request.salt } }
    }),
    caughtBy: ERASES,
  },
  {
    what: 'keeps the resource of an erased request',
    broken: givingBack(({ decision, request }, created) => {
      return { decision: { ...decision, resource: created.decision.resource }, request }
    }),
    caughtBy: ERASES,
  },
  {
    what: 'still finds an erased request by its hash',
    broken: findingBy('request_hash'),
    caughtBy: ERASES,
  },
  {
    what: 'still finds an erased request by its resource',
    broken: findingBy('resource'),
    caughtBy: ERASES,
  },
  {
    what: 'brings a request back with the next update of its decision',
    broken: givingBack((found, { decision, request }) => {
      return found.decision.version === decision.version + 1 ? found : { ...found, request }
    }),
    caughtBy: 'keeps a request erased through the later updates',
  },
  {
    what: 'keeps the fingerprint of the call that asked',
    broken: (sound) => {
      const known = new Map<string, string | null>()
      const nameOf = ({ key_id, operation, key }: Parameters<Store['idempotency']['get']>[0]) =>
        JSON.stringify([key_id, operation, key])
      return {
        commit(mutations) {
          for (const { idempotency } of mutations)
            if (idempotency !== null) known.set(nameOf(idempotency), idempotency.fingerprint)
          return sound.commit(mutations)
        },
        idempotency: {
          async get(name, now) {
            const found = await sound.idempotency.get(name, now)
            return found && { ...found, fingerprint: known.get(nameOf(name)) ?? found.fingerprint }
          },
        },
      }
    },
    caughtBy: FORGETS,
  },
  {
    what: 'forgets the fingerprints of all calls of a decision',
    broken: (sound) => ({
      idempotency: {
        async get(name, now) {
          const found = await sound.idempotency.get(name, now)
          const decision = found && (await sound.decisions.get(found.subject))?.decision
          return found && decision?.request_erased_at !== undefined ? { ...found, fingerprint: null } : found
        },
      },
    }),
    caughtBy: FORGETS,
  },
  {
    what: 'forgets the fingerprints of all calls that asked for the same',
    broken: (sound) => {
      const memory = new Memory(sound)
      return {
        commit: memory.commit,
        idempotency: {
          async get(name, now) {
            const found = await sound.idempotency.get(name, now)
            const first = await sound.decisions.get(memory.byHash(found?.fingerprint ?? null) ?? '')
            const isErased = first?.decision.request_erased_at !== undefined
            return found && isErased ? { ...found, fingerprint: null } : found
          },
        },
      }
    },
    caughtBy: FORGETS,
  },
  {
    what: 'erases a request whatever the version of its decision is',
    broken: (sound) => ({
      async commit(mutations) {
        const forced = mutations.map(async (mutation) => {
          const { change } = mutation
          if (change.kind !== 'decision.update' || change.erases_request === undefined) return mutation
          const version = (await sound.decisions.get(change.decision.id))?.decision.version ?? change.expected_version
          const decision = { ...change.decision, version: version + 1 }
          return { ...mutation, change: { ...change, decision, expected_version: version } }
        })
        return sound.commit(await Promise.all(forced))
      },
    }),
    caughtBy: 'erases nothing of a decision at another version',
  },
  {
    what: 'lists held requests newest first',
    broken: (sound) => ({
      decisions: {
        async listHeldRequests(filter, page) {
          const { items, next } = await sound.decisions.listHeldRequests(filter, page)
          return { items: items.toReversed(), next }
        },
      },
    }),
    caughtBy: LISTS,
  },
  {
    what: 'lists requests as held that were erased',
    broken: (sound) => ({
      decisions: {
        async listHeldRequests({ agent_id, evaluated_from, evaluated_before }, { limit, after }): Promise<HeldPage> {
          const filter = {
            ...(agent_id !== undefined && { agent_id }),
            ...(evaluated_from !== undefined && { from: evaluated_from }),
            ...(evaluated_before !== undefined && { to: evaluated_before }),
          }
          const all = { limit: 10_000, after: null }
          const now = new Date(0).toISOString()
          const { items }: Page<DecisionWithRequest> = await sound.decisions.list({ ...filter, agents: null, now }, all)
          const oldestFirst = items.toReversed().map(({ decision: { id, evaluated_at } }) => ({ id, evaluated_at }))
          return paged(oldestFirst, Number(after ?? 0), limit)
        },
      },
    }),
    caughtBy: LISTS,
  },
  {
    what: 'lists held requests of all agents',
    broken: listing(({ agent_id: _, ...filter }) => filter),
    caughtBy: LISTS,
  },
  {
    what: 'lists held requests from the first one on',
    broken: listing(({ evaluated_from: _, ...filter }) => filter),
    caughtBy: LISTS,
  },
  {
    what: 'takes `evaluated_before` for inclusive',
    broken: listing(({ evaluated_before: before, ...filter }) =>
      before === undefined ? filter : { ...filter, evaluated_before: later(before) },
    ),
    caughtBy: LISTS,
  },
  {
    what: 'pages held requests by counting them',
    broken: (sound) => ({
      decisions: {
        async listHeldRequests(filter, { limit, after }) {
          const { items } = await sound.decisions.listHeldRequests(filter, { limit: 10_000, after: null })
          return paged(items, Number(after ?? 0), limit)
        },
      },
    }),
    caughtBy: PAGES,
  },
  {
    what: 'wipes the decisions themselves',
    broken: (sound) => ({
      async wipe() {
        const erased = (await sound.decisions.list({ agents: null, now: '' }, { limit: 10_000, after: null })).items
          .map(({ decision }) => decision)
          .filter(({ request_erased_at }) => request_erased_at !== undefined)
        await sound.decisions.remove(erased, new Date(8.64e15).toISOString())
      },
    }),
    caughtBy: 'wipes what was erased and removed',
  },
]
