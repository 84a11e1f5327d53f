import { patternTest } from '@countersign/contract/pattern-match'
import type { AgentWithLastSeen } from '../../../ports/store/agents.js'
import type { StoredAgent } from '../../../ports/store/documents.js'
import type { MovedRegistration } from '../../../ports/store/move.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import { rowDocument } from '../../../ports/store/row-document.js'
import type { Connection, Row } from '../driver.js'
import { readInOrder } from '../read-in-order.js'
import { readPage } from '../read-page.js'
import { pageOf, type Scan } from '../scan-newest-first.js'

/** Returns false when the agent is not at the expected version; one that was only seen is at 0. */
export function writeAgent(db: Connection, agent: StoredAgent, expectedVersion: number): boolean {
  if (expectedVersion === 0) insertUnwritten(db, agent.id, agent.known_at)
  const updated = db.run(
    'UPDATE agents SET version = ?, document = ? WHERE id = ? AND version = ?',
    agent.version,
    JSON.stringify(agent),
    agent.id,
    expectedVersion,
  )
  if (updated === 0) return false
  if (agent.registration !== null) {
    db.run(
      'INSERT INTO agent_revisions (agent_id, revision, document) VALUES (?, ?, ?) ON CONFLICT DO NOTHING',
      agent.id,
      agent.registration.revision,
      JSON.stringify(agent.registration),
    )
  }
  return true
}

/** When an agent was seen: when the store first learned of it, and the first and last times of its decisions. */
interface Sighting {
  readonly agent_id: string
  readonly known: string
  readonly first: string
  readonly last: string
}

/** Separate from the agents, whose documents can be large: this row is written with the decisions. */
export function markSeen(db: Connection, { agent_id, known, first, last }: Sighting): void {
  const updated = db.run(
    'UPDATE sightings SET first_seen = min(first_seen, ?2), last_seen = max(last_seen, ?3) WHERE agent_id = ?1',
    agent_id,
    first,
    last,
  )
  if (updated === 1) return
  insertUnwritten(db, agent_id, known)
  db.run('INSERT INTO sightings (agent_id, first_seen, last_seen) VALUES (?, ?, ?)', agent_id, first, last)
}

export function loadAgents(db: Connection): readonly StoredAgent[] {
  return db
    .all(`${READ} WHERE document IS NOT NULL`)
    .map((row) => agentOf(row).agent)
    .filter(({ registration, suspended }) => registration !== null || suspended !== null)
}

export function listWrittenAgents(db: Connection, page: PageRequest): Promise<Page<StoredAgent>> {
  const found = db.all(
    'SELECT id, seq FROM agents INDEXED BY agents_written WHERE document IS NOT NULL AND id > ? ORDER BY id LIMIT ?',
    page.after ?? '',
    page.limit + 1,
  )
  return readPage(found, page, {
    read: (seq) => db.get(`${READ} WHERE agents.seq = ?`, seq),
    make: (row) => agentOf(row).agent,
    nameOf: ({ id }) => id as string,
  })
}

export function findAgent(db: Connection, id: string): AgentWithLastSeen | null {
  const row = db.get(`${READ} WHERE agents.id = ?`, id)
  return row === undefined ? null : agentOf(row)
}

export function listAgents(
  db: Connection,
  patterns: readonly string[] | null,
  page: PageRequest,
): Promise<Page<AgentWithLastSeen>> {
  return pageOf(db, agentScan(patterns), page, {
    read: (seq) => db.get(`${READ} WHERE agents.seq = ?`, seq),
    make: agentOf,
  })
}

/** Registered, suspended or seen: an agent that was deleted before it ever asked is known, but not shown. */
function agentScan(patterns: readonly string[] | null): Scan {
  return {
    table: 'agents',
    by: 'time',
    index: 'agents_by_time',
    conditions: [
      {
        sql: `(document ->> '$.registration' IS NOT NULL OR document ->> '$.suspended' IS NOT NULL
          OR EXISTS (SELECT 1 FROM sightings WHERE agent_id = agents.id))`,
        values: [],
        index: null,
      },
    ],
    keep: patterns === null ? undefined : { column: 'id', test: patternTest(patterns) },
  }
}

export function findAgentMetadata(db: Connection, id: string, revision: number): StoredAgent['registration'] {
  const row = db.get('SELECT document FROM agent_revisions WHERE agent_id = ? AND revision = ?', id, revision)
  return row === undefined ? null : JSON.parse(row.document as string)
}

/** Reads every agent that the store knows, also those that no list shows. */
export function readAllAgents(db: Connection, page: PageRequest): Promise<Page<AgentWithLastSeen>> {
  return readInOrder(db, 'agents', page, {
    read: (seq) => db.get(`${READ} WHERE agents.seq = ?`, seq),
    make: agentOf,
  })
}

export function readAllRegistrations(db: Connection, page: PageRequest): Promise<Page<MovedRegistration>> {
  return readInOrder(db, 'agent_revisions', page, {
    read: (seq) => db.get('SELECT agent_id, document FROM agent_revisions WHERE rowid = ?', seq),
    make: (row) => ({ agent_id: row.agent_id as string, registration: JSON.parse(row.document as string) }),
  })
}

const READ = `SELECT agents.id, version, known_at, document, first_seen, last_seen
  FROM agents LEFT JOIN sightings ON sightings.agent_id = agents.id`

function insertUnwritten(db: Connection, id: string, knownAt: string): void {
  db.run(
    'INSERT INTO agents (id, version, at_ms, known_at) VALUES (?, 0, ?, ?) ON CONFLICT (id) DO NOTHING',
    id,
    Date.parse(knownAt),
    knownAt,
  )
}

/** The first facts that the store had about an agent stay, whatever is written later. */
function agentOf(row: Row): AgentWithLastSeen {
  const own = { id: row.id as string, version: row.version as number }
  const unwritten = { id: own.id, version: 0, registration: null, last_revision: 0, suspended: null }
  const written = row.document === null ? unwritten : rowDocument<StoredAgent>('agent', own, row.document as string)
  return {
    agent: { ...written, known_at: row.known_at as string },
    lastSeen: { first_seen: row.first_seen as string | null, last_seen: row.last_seen as string | null },
  }
}
