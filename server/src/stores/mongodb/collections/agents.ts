import { patternTest } from '@countersign/contract/pattern-match'
import type { AgentWithLastSeen } from '../../../ports/store/agents.js'
import type { StoredAgent } from '../../../ports/store/documents.js'
import type { MovedRegistration } from '../../../ports/store/move.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { rowDocument } from '../../../ports/store/row-document.js'
import { allDone } from '../connection/all-done.js'
import type { Database } from '../connection/database.js'
import type { AgentDocument } from '../stored.js'
import { pageOf } from './pages.js'

/** An agent that the store knows but that was never written. */
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
  const found = await database.call(() => database.agents.find({ _id: { $gt: '' }, ...IS_WRITTEN }).toArray())
  return found.map(agentOf).filter(({ registration, suspended }) => registration !== null || suspended !== null)
}

/** Only the document says whether an agent is suspended, because entries bind only the document. */
const IS_WRITTEN = { document: { $type: 'string' } } as const

export function listWrittenAgents(database: Database, page: PageRequest): Promise<Page<StoredAgent>> {
  return pageOf(
    database,
    { collection: database.agents, conditions: [IS_WRITTEN], by: ['_id'], isOldestFirst: true },
    agentOf,
    page,
  )
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
  if (found !== null) return JSON.parse(found.document)
  // This collection lags the agent's document, which itself has the newest registration.
  const agent = await database.call(() => database.agents.findOne({ _id: { $eq: id } }))
  const registration = agent === null ? null : agentOf(agent).registration
  return registration?.revision === revision ? registration : null
}

/** Writes agents with the times at which they were seen. */
export async function insertAgents(database: Database, agents: readonly AgentWithLastSeen[]): Promise<void> {
  const seen = agents.flatMap(({ agent: { id }, lastSeen: { first_seen, last_seen } }) =>
    first_seen === null || last_seen === null ? [] : [{ _id: id, first_seen, last_seen }],
  )
  await database.insertNew(database.lastSeen, seen)
  const documents = agents.map(({ agent, lastSeen }): AgentDocument => {
    const isSeen = lastSeen.first_seen !== null
    const isHeld = agent.registration !== null || agent.suspended !== null
    return {
      ...unwrittenAgent(agent.id, agent.known_at),
      ...(agent.version > 0 && { version: agent.version, document: JSON.stringify(agent) }),
      ...{ rev: 1, is_held: isHeld, is_seen: isSeen, is_listed: isHeld || isSeen },
    }
  })
  await database.insertNew(database.agents, documents)
}

export async function findAgents(
  database: Database,
  agents: readonly AgentWithLastSeen[],
): Promise<readonly (AgentWithLastSeen | null)[]> {
  const ids = agents.map(({ agent }) => agent.id)
  const found = await database.findByIds(database.agents, ids)
  const known = await withLastSeen(database, [...found.values()].map(agentOf))
  const byId = new Map(known.map((one) => [one.agent.id, one]))
  return ids.map((id) => byId.get(id) ?? null)
}

export async function keepRegistrations(
  database: Database,
  registrations: readonly MovedRegistration[],
): Promise<void> {
  const revisions = registrations.map(({ agent_id, registration }) => ({
    _id: revisionId(agent_id, registration.revision),
    document: JSON.stringify(registration),
  }))
  await database.insertNew(database.agentRevisions, revisions)
}

export async function findRegistrations(
  database: Database,
  registrations: readonly MovedRegistration[],
): Promise<readonly (MovedRegistration | null)[]> {
  const idOf = ({ agent_id, registration }: MovedRegistration) => revisionId(agent_id, registration.revision)
  const found = await database.findByIds(database.agentRevisions, registrations.map(idOf))
  return registrations.map((one) => {
    const document = found.get(idOf(one))?.document
    return document === undefined ? null : { agent_id: one.agent_id, registration: JSON.parse(document) }
  })
}

/** Stores the metadata of the registration in an agent's document. */
export async function keepRevisions(database: Database, documents: readonly string[]): Promise<void> {
  const revisions = documents.flatMap((document) => {
    const { id, registration } = JSON.parse(document) as StoredAgent
    return registration === null ? [] : [{ agent_id: id, registration }]
  })
  await keepRegistrations(database, revisions)
}

/** Agent ids contain no blank. */
function revisionId(id: string, revision: number): string {
  return `${id} ${revision}`
}

/** Agents that this process has already marked as seen need no second mark. */
const MAX_KNOWN = 10_000

export class LastSeenWriter {
  readonly #known = new Set<string>()

  constructor(private readonly database: Database) {}

  /** Marks agents as seen at the times of their requests. */
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
  const ids = agents.map(({ id }) => id)
  const byId = await database.findByIds(database.lastSeen, ids)
  return agents.map((agent) => {
    const lastSeen = byId.get(agent.id)
    return {
      agent,
      lastSeen: { first_seen: lastSeen?.first_seen ?? null, last_seen: lastSeen?.last_seen ?? null },
    }
  })
}

/** The first facts that the store had about an agent stay, whatever is written later. */
function agentOf({ _id: id, version, document, known_at }: AgentDocument): StoredAgent {
  const unwritten = { id, version: 0, registration: null, last_revision: 0, suspended: null }
  return { ...(document === null ? unwritten : rowDocument<StoredAgent>('agent', { id, version }, document)), known_at }
}
