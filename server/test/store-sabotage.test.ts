/** A suite is worth what it catches: each of these stores breaks one promise, and the named case has to notice. */
import { describe, expect, it } from 'vitest'
import type { DecisionWithRequest, Page, Store, StoreRecord } from '#server/ports/store'
import { openInNewDirectory } from './open-sqlite-store.js'
import type { OpenedStore } from './store-cases/store-case.js'
import { STORE_CASES } from './store-suite.js'

interface Sabotage {
  readonly what: string
  /** The members that differ from the sound store's. */
  readonly broken: (sound: Store) => Partial<Store>
  /** The beginning of the title of the case that fails. */
  readonly caughtBy: string
}

const SABOTAGES: readonly Sabotage[] = [
  {
    what: 'loses the last record of a group',
    broken: (sound) => ({
      async commit(records) {
        await sound.commit(records.slice(0, -1))
        return { written: records.length, conflict: null }
      },
    }),
    caughtBy: 'writes a group whole',
  },
  {
    what: 'acknowledges a commit before it is written',
    broken: (sound) => ({
      async commit(records) {
        void sound.commit(records).catch(() => {})
        return { written: records.length, conflict: null }
      },
    }),
    caughtBy: 'lets reads see a commit as soon as it has resolved',
  },
  {
    what: 'applies the records after a conflict',
    broken: (sound) => ({
      async commit(records) {
        const result = await sound.commit(records)
        if (result.conflict !== null) await sound.commit(movedBack(records.slice(result.written + 1)))
        return result
      },
    }),
    caughtBy: 'keeps what is before a decision whose id is taken at the first place',
  },
  {
    what: 'says that nothing of a group with a conflict was written',
    broken: (sound) => ({
      async commit(records) {
        const result = await sound.commit(records)
        return result.conflict === null ? result : { ...result, written: 0 }
      },
    }),
    caughtBy: 'keeps what is before a decision whose id is taken at the last place',
  },
  {
    what: 'ignores expected_version',
    broken: (sound) => ({
      async commit(records) {
        const forced = await Promise.all(records.map((record) => atPresentVersion(sound, record)))
        return sound.commit(forced)
      },
    }),
    caughtBy: 'lets one of two writers win',
  },
  {
    what: 'writes the entry of a record whose change met a conflict',
    broken: (sound) => ({
      async commit(records) {
        const result = await sound.commit(records)
        const refused = records[result.written]
        if (result.conflict === 'version' && refused !== undefined) {
          await sound.commit([{ ...refused, change: { kind: 'entry.only' }, idempotency: null }])
        }
        return result
      },
    }),
    caughtBy: 'keeps what is before a key that is there at the first place',
  },
  {
    what: 'writes a change without its idempotency record',
    broken: (sound) => ({
      commit: (records) => sound.commit(records.map((record) => ({ ...record, idempotency: null }))),
    }),
    caughtBy: 'writes a record and its entry and its idempotency record together',
  },
  {
    what: 'starts the log anew',
    broken: (sound) => ({
      async openLog() {
        return { ...(await sound.openLog()), next_index: 0 }
      },
    }),
    caughtBy: 'continues one log without a gap over restarts',
  },
  {
    what: 'answers reads from a memory that is never renewed',
    broken: (sound) => {
      const known = new Map<string, Promise<DecisionWithRequest | null>>()
      return {
        findDecision(id) {
          const remembered = known.get(id) ?? sound.findDecision(id)
          known.set(id, remembered)
          return remembered
        },
      }
    },
    caughtBy: 'lets reads see a commit as soon as it has resolved',
  },
  {
    what: 'rounds numbers',
    broken: (sound) => ({
      findDecision: async (id) => rounded(await sound.findDecision(id)),
    }),
    caughtBy: 'gives back a decision and its request as they were written',
  },
  {
    what: 'lets a decision live for the instant of its expiry',
    broken: (sound) => ({
      listDecisions: (filter, page) => sound.listDecisions({ ...filter, now: earlier(filter.now) }, page),
    }),
    caughtBy: 'lists by the status that follows from the clock',
  },
  {
    what: 'takes `to` for inclusive',
    broken: (sound) => ({
      listDecisions: ({ to, ...filter }, page) =>
        sound.listDecisions(to === undefined ? filter : { ...filter, to: later(to) }, page),
    }),
    caughtBy: 'lists decisions by {"to":',
  },
  {
    what: 'takes ? in a pattern for any character',
    broken: (sound) => ({
      listDecisions: (filter, page) =>
        sound.listDecisions(
          { ...filter, agents: filter.agents?.map((pattern) => pattern.replaceAll('?', '*')) ?? null },
          page,
        ),
    }),
    caughtBy: 'keeps to the agents of a bound key, where * is any run',
  },
  {
    what: 'pages by counting items',
    broken: (sound) => ({
      async listDecisions(filter, { limit, after }): Promise<Page<DecisionWithRequest>> {
        const { items } = await sound.listDecisions(filter, { limit: 10_000, after: null })
        const end = Number(after ?? 0) + limit
        return { items: items.slice(end - limit, end), next: end < items.length ? String(end) : null }
      },
    }),
    caughtBy: 'pages without a repetition or a gap while decisions are written',
  },
  {
    what: 'lists oldest first',
    broken: (sound) => ({
      async listDecisions(filter, page) {
        const { items, next } = await sound.listDecisions(filter, page)
        return { items: items.toReversed(), next }
      },
    }),
    caughtBy: 'lists decisions newest first',
  },
  {
    what: 'explains old sets with the policies of today',
    broken: (sound) => ({
      loadPoliciesOfSet: async () => (await sound.loadPolicies()).policies,
    }),
    caughtBy: 'gives the policies that were live in each set',
  },
  {
    what: 'forgets an idempotency record by its age alone',
    broken: (sound) => ({
      async findIdempotency(name, now) {
        const found = await sound.findIdempotency(name, now)
        return found !== null && now < found.expires_at ? found : null
      },
    }),
    caughtBy: 'lets a record count as long as its decision is open',
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

/** The same records, one place back in the log: the first takes that of the one that met a conflict. */
function movedBack(records: readonly StoreRecord[]): readonly StoreRecord[] {
  return records.map((record) => ({ ...record, entry: { ...record.entry, index: record.entry.index - 1 } }))
}

async function atPresentVersion(store: Store, record: StoreRecord): Promise<StoreRecord> {
  const { change } = record
  if (change.kind !== 'decision.update') return record
  const version = (await store.findDecision(change.decision.id))?.decision.version ?? 0
  const decision = { ...change.decision, version: version + 1 }
  return { ...record, change: { ...change, decision, expected_version: version } }
}

function rounded(found: DecisionWithRequest | null): DecisionWithRequest | null {
  const round = (_: string, value: unknown) => (typeof value === 'number' ? Number(value.toPrecision(15)) : value)
  return JSON.parse(JSON.stringify(found, round))
}

function later(instant: string): string {
  return new Date(Date.parse(instant) + 1).toISOString()
}

function earlier(instant: string): string {
  return new Date(Date.parse(instant) - 1).toISOString()
}

/** The sound store under a broken surface. */
function breakStore(sound: Store, { broken }: Sabotage): Store {
  const members = broken(sound)
  return new Proxy(sound, {
    get(target, name) {
      const member = members[name as keyof Store] ?? target[name as keyof Store]
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

async function openBroken(sabotage: Sabotage): Promise<OpenedStore> {
  const { store, reopen, destroy } = await openInNewDirectory()
  return {
    store: breakStore(store, sabotage),
    reopen: async () => breakStore(await reopen(), sabotage),
    destroy,
  }
}

describe('the store suite catches a store that', () => {
  it.each(SABOTAGES)('$what', async (sabotage) => {
    const cases = STORE_CASES.filter(({ title }) => title.startsWith(sabotage.caughtBy))
    expect(cases).toHaveLength(1)
    const opened = await openBroken(sabotage)
    const caught = await cases[0]?.run(opened).then(
      () => null,
      (failure: unknown) => failure,
    )
    await opened.destroy()
    expect(caught).toMatchObject({ name: 'AssertionError' })
  })
})
