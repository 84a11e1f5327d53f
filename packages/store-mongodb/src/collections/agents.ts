import { patternTest } from '@countersign/contract/pattern-match'
import type { StoredAgent } from '@countersign/store-port/documents'
import type { AgentWithLastSeen, Page, PageRequest } from '@countersign/store-port/store'
import { allDone } from '../connection/all-done.js'
import type { Database } from '../connection/database.js'
import type { AgentDocument, StoredLastSeen } from '../stored.js'
import { pageOf } from './pages.js'

/** An agent that the store knows of and nobody has written. */
export function unwrittenAgent(id: string, knownAt: string): AgentDocument {
  return {
    _id: id,
    rev: 0,
    version: 0,
    last: null,
    at_ms: Date.parse(knownAt),
    known_at: knownAt,
    is_held: false,
    is_seen: false,
    is_listed: false,
    document: null,
  }
}

export async function loadAgents(database: Database): Promise<readonly StoredAgent[]> {
  const found = await database.call(() => database.agents.find({ is_held: true }).toArray())
  return found.map(agentOf)
}

export async function findAgent(database: Database, id: string): Promise<AgentWithLastSeen | null> {
  const found = await database.call(() => database.agents.findOne({ _id: { $eq: id } }))
  if (found === null || (found.document === null && !found.is_listed)) return null
  return (await withLastSeen(database, [agentOf(found)]))[0] as AgentWithLastSeen
}

export async function listAgents(
  database: Database,
  patterns: readonly string[] | null,
  page: PageRequest,
): Promise<Page<AgentWithLastSeen>> {
  const test = patterns === null ? null : patternTest(patterns)
  const { items, next } = await pageOf(
    database,
    {
      collection: database.agents,
      conditions: [{ is_listed: true }],
      by: ['at_ms', '_id'],
      keep: test === null ? undefined : ({ _id }) => test(_id),
      looksAt: ['_id'],
    },
    agentOf,
    page,
  )
  return { items: await withLastSeen(database, items), next }
}

export async function findAgentMetadata(
  database: Database,
  id: string,
  revision: number,
): Promise<StoredAgent['registration']> {
  const found = await database.call(() => database.agentRevisions.findOne({ _id: { $eq: revisionId(id, revision) } }))
  return found === null ? null : JSON.parse(found.document)
}

/** Keeps the metadata of the registration that a document of an agent has. */
export async function keepRevisions(database: Database, documents: readonly string[]): Promise<void> {
  const revisions = documents.flatMap((document) => {
    const { id, registration } = JSON.parse(document) as StoredAgent
    if (registration === null) return []
    return [{ _id: revisionId(id, registration.revision), document: JSON.stringify(registration) }]
  })
  await database.insertNew(database.agentRevisions, revisions)
}

/** Ids of agents hold no blank. */
function revisionId(id: string, revision: number): string {
  return `${id} ${revision}`
}

/** Agents that this process has marked as seen need no second mark. */
const MAX_KNOWN = 10_000

export class LastSeenWriter {
  readonly #known = new Set<string>()

  constructor(private readonly database: Database) {}

  /** Marks that agents asked, each at some times. */
  async mark(seen: readonly { readonly agent_id: string; readonly at: string }[]): Promise<void> {
    const times = new Map<string, { first: string; last: string }>()
    for (const { agent_id, at } of seen) {
      const time = times.get(agent_id)
      if (time === undefined) times.set(agent_id, { first: at, last: at })
      else {
        if (at < time.first) time.first = at
        if (at > time.last) time.last = at
      }
    }
    if (times.size === 0) return
    const { lastSeen } = this.database
    const fresh = [...times].filter(([id]) => !this.#known.has(id))
    await allDone([
      this.database.call(() =>
        lastSeen.bulkWrite(
          [...times].map(([id, { first, last }]) => ({
            updateOne: {
              filter: { _id: id },
              update: { $min: { first_seen: first }, $max: { last_seen: last } },
              upsert: true,
            },
          })),
          { ordered: false },
        ),
      ),
      this.#list(fresh.map(([id, { first }]) => ({ id, first }))),
    ])
    for (const [id] of fresh) {
      if (this.#known.size >= MAX_KNOWN) this.#known.clear()
      this.#known.add(id)
    }
  }

  async #list(fresh: readonly { readonly id: string; readonly first: string }[]): Promise<void> {
    if (fresh.length === 0) return
    const { agents } = this.database
    await this.database.insertNew(
      agents,
      fresh.map(({ id, first }) => ({ ...unwrittenAgent(id, first), is_seen: true, is_listed: true })),
    )
    await this.database.call(() =>
      agents.updateMany(
        { _id: { $in: fresh.map(({ id }) => id) }, is_seen: false },
        { $set: { is_seen: true, is_listed: true } },
      ),
    )
  }
}

async function withLastSeen(database: Database, agents: readonly StoredAgent[]): Promise<readonly AgentWithLastSeen[]> {
  const found = await database.call(() =>
    database.lastSeen.find({ _id: { $in: agents.map(({ id }) => id) } }).toArray(),
  )
  const byId = new Map(found.map((lastSeen: StoredLastSeen) => [lastSeen._id, lastSeen]))
  return agents.map((agent) => {
    const lastSeen = byId.get(agent.id)
    return {
      agent,
      lastSeen: { first_seen: lastSeen?.first_seen ?? null, last_seen: lastSeen?.last_seen ?? null },
    }
  })
}

/** What the store knew first of an agent stays, whatever is written later. */
function agentOf({ _id, document, known_at }: AgentDocument): StoredAgent {
  const unwritten = { id: _id, version: 0, registration: null, last_revision: 0, suspended: null }
  return { ...(document === null ? unwritten : (JSON.parse(document) as StoredAgent)), known_at }
}
