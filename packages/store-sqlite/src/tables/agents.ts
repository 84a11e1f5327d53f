import { patternTest } from '@countersign/contract/pattern-match'
import type { StoredAgent } from '@countersign/store-port/documents'
import type { AgentWithLastSeen, Page, PageRequest } from '@countersign/store-port/store'
import type { Connection, Row } from '../driver.js'
import { pageOf, type Scan } from '../scan-newest-first.js'

/** False when the agent is not at the expected version; one that was only seen is at 0. */
export function writeAgent(db: Connection, agent: StoredAgent, expectedVersion: number): boolean {
  if (expectedVersion === 0) insertUnwritten(db, agent.id, agent.known_at)
  const isHeld = agent.registration !== null || agent.suspended !== null
  const updated = db.run(
    'UPDATE agents SET version = ?, is_held = ?, document = ? WHERE id = ? AND version = ?',
    agent.version,
    isHeld ? 1 : 0,
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

/** When an agent was seen: when the store first learned of it, and from when to when its decisions are. */
interface Sighting {
  readonly agent_id: string
  readonly known: string
  readonly first: string
  readonly last: string
}

/** Apart from the agents, whose documents can be large: this row is written with the decisions. */
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
  return db.all(`${READ} WHERE is_held = 1`).map((row) => agentOf(row).agent)
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

/** Registered, suspended or seen: one that was deleted before it ever asked is known, but not shown. */
function agentScan(patterns: readonly string[] | null): Scan {
  return {
    table: 'agents',
    by: 'time',
    index: 'agents_by_time',
    conditions: [
      {
        sql: '(is_held = 1 OR EXISTS (SELECT 1 FROM sightings WHERE agent_id = agents.id))',
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

const READ = `SELECT agents.id, known_at, document, first_seen, last_seen
  FROM agents LEFT JOIN sightings ON sightings.agent_id = agents.id`

function insertUnwritten(db: Connection, id: string, knownAt: string): void {
  db.run(
    'INSERT INTO agents (id, version, at_ms, known_at, is_held) VALUES (?, 0, ?, ?, 0) ON CONFLICT (id) DO NOTHING',
    id,
    Date.parse(knownAt),
    knownAt,
  )
}

/** What the store knew first of an agent stays, whatever is written later. */
function agentOf(row: Row): AgentWithLastSeen {
  const unwritten = { id: row.id as string, version: 0, registration: null, last_revision: 0, suspended: null }
  const written = row.document === null ? unwritten : (JSON.parse(row.document as string) as StoredAgent)
  return {
    agent: { ...written, known_at: row.known_at as string },
    lastSeen: { first_seen: row.first_seen as string | null, last_seen: row.last_seen as string | null },
  }
}
