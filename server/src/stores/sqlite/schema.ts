import { NewerSchemaError } from '../../ports/store/errors.js'
import { BUSY_TIMEOUT_MS, type Connection } from './driver.js'

/** Distinguishes our files from other SQLite databases: "CSGN". */
const APPLICATION_ID = 0x4353474e

const OPEN_SET = Number.MAX_SAFE_INTEGER

/**
 * The migrations from each version to the next; the first one creates a new file. A released migration is never edited.
 * `at_ms` and similar columns are milliseconds since 1970; `document` is the whole JSON document, and the columns next
 * to it are for searches.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

  CREATE TABLE decisions (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    status TEXT NOT NULL, expires_ms INTEGER NOT NULL, agent_id TEXT NOT NULL, action TEXT NOT NULL, resource TEXT,
    effect TEXT NOT NULL, policy_id TEXT NOT NULL, request_hash TEXT NOT NULL, document TEXT NOT NULL,
    request_context TEXT, request_salt TEXT);
  CREATE INDEX decisions_by_time ON decisions (at_ms, id);
  CREATE INDEX decisions_by_agent ON decisions (agent_id, at_ms, id);

  CREATE TABLE policies (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, from_set INTEGER NOT NULL,
    until_set INTEGER NOT NULL, deleted_at TEXT, document TEXT NOT NULL, UNIQUE (id, version));
  CREATE UNIQUE INDEX policies_live_by_name ON policies (name) WHERE until_set = ${OPEN_SET};
  CREATE UNIQUE INDEX policies_live_by_id ON policies (id) WHERE until_set = ${OPEN_SET};
  CREATE INDEX policies_by_set ON policies (until_set, from_set);

  CREATE TABLE agents (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    known_at TEXT NOT NULL, is_held INTEGER NOT NULL, document TEXT);
  CREATE INDEX agents_by_time ON agents (at_ms, id);
  CREATE TABLE agent_revisions (
    agent_id TEXT NOT NULL, revision INTEGER NOT NULL, document TEXT NOT NULL, PRIMARY KEY (agent_id, revision));
  CREATE TABLE sightings (
    agent_id TEXT PRIMARY KEY, first_seen TEXT NOT NULL, last_seen TEXT NOT NULL) WITHOUT ROWID;

  CREATE TABLE keys (id TEXT PRIMARY KEY, version INTEGER NOT NULL, document TEXT NOT NULL);
  CREATE TABLE key_uses (key_id TEXT PRIMARY KEY, used_at TEXT NOT NULL) WITHOUT ROWID;

  CREATE TABLE audit_entries (
    seq INTEGER PRIMARY KEY, log TEXT NOT NULL, log_index INTEGER NOT NULL, id TEXT NOT NULL, at_ms INTEGER NOT NULL,
    type TEXT NOT NULL, agent_id TEXT, subject TEXT NOT NULL, document TEXT NOT NULL, UNIQUE (log, log_index));
  CREATE INDEX audit_entries_by_time ON audit_entries (at_ms, id);
  CREATE INDEX audit_entries_by_subject ON audit_entries (subject, at_ms, id);

  CREATE TABLE idempotency (
    seq INTEGER PRIMARY KEY, key_id TEXT NOT NULL, operation TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL,
    status INTEGER NOT NULL, subject TEXT NOT NULL, created_ms INTEGER NOT NULL, expires_ms INTEGER NOT NULL,
    UNIQUE (key_id, operation, key));
  CREATE INDEX idempotency_by_expiry ON idempotency (expires_ms);
  `,
  // Each filter of the lists has its own index; the rare ones cost a decision nothing when it is written.
  `
  CREATE INDEX decisions_by_action ON decisions (action, at_ms, id);
  CREATE INDEX decisions_by_policy ON decisions (policy_id, at_ms, id);
  CREATE INDEX decisions_by_request_hash ON decisions (request_hash, at_ms, id);
  CREATE INDEX decisions_by_resource ON decisions (resource, at_ms, id) WHERE resource IS NOT NULL;
  CREATE INDEX decisions_by_rare_status ON decisions (status, at_ms, id)
    WHERE status NOT IN ('authorized', 'denied', 'expired');
  CREATE INDEX decisions_awaiting_review ON decisions (expires_ms) WHERE status = 'awaiting_review';

  CREATE INDEX agents_held ON agents (id) WHERE is_held = 1;

  CREATE INDEX audit_entries_by_agent ON audit_entries (agent_id, at_ms, id) WHERE agent_id IS NOT NULL;
  CREATE INDEX audit_entries_by_type ON audit_entries (type, at_ms, id);
  `,
  // Amounts are decimal text, because they may exceed an integer of SQLite. An index continues with seq after its
  // columns.
  `
  CREATE TABLE accounts (
    seq INTEGER PRIMARY KEY, policy_id TEXT NOT NULL, unit TEXT NOT NULL, period TEXT NOT NULL, starts_at TEXT NOT NULL,
    agent_id TEXT NOT NULL, spent TEXT NOT NULL, reserved TEXT NOT NULL,
    UNIQUE (policy_id, unit, period, starts_at, agent_id));
  CREATE INDEX accounts_by_policy ON accounts (policy_id);
  CREATE INDEX accounts_by_start ON accounts (policy_id, unit, period, starts_at);
  CREATE INDEX accounts_reserved ON accounts (seq) WHERE reserved <> '0';

  CREATE INDEX decisions_authorized ON decisions (expires_ms) WHERE status = 'authorized';
  CREATE INDEX decisions_approved ON decisions (expires_ms) WHERE status = 'approved';
  UPDATE decisions SET document = json_set(document, '$.postings', json('[]'), '$.claimed_at', null);
  `,
  // A decision that a call names is not removed.
  `
  CREATE INDEX idempotency_by_subject ON idempotency (subject);
  `,
  // Only the number changes: a release without page sums must not write to a file that has some.
  '',
  // The feed. A delivery is soon delivered, and then only in the indexes of its id and its time.
  `
  CREATE TABLE webhooks (id TEXT PRIMARY KEY, version INTEGER NOT NULL, document TEXT NOT NULL);

  CREATE TABLE readers (name TEXT PRIMARY KEY, fence INTEGER NOT NULL, document TEXT) WITHOUT ROWID;

  CREATE TABLE deliveries (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, webhook_id TEXT NOT NULL,
    at_ms INTEGER NOT NULL, status TEXT NOT NULL, event_ms INTEGER NOT NULL, next_ms INTEGER, document TEXT NOT NULL);
  CREATE INDEX deliveries_by_webhook ON deliveries (webhook_id, at_ms, id);
  CREATE INDEX deliveries_undelivered ON deliveries (webhook_id, status, at_ms, id) WHERE status <> 'delivered';
  CREATE INDEX deliveries_due ON deliveries (webhook_id, next_ms, id) WHERE status = 'pending';
  CREATE INDEX deliveries_pending ON deliveries (webhook_id, event_ms) WHERE status = 'pending';

  CREATE TABLE counts (
    id TEXT PRIMARY KEY, series TEXT NOT NULL, starts_ms INTEGER NOT NULL, document TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX counts_by_start ON counts (series, starts_ms, id);
  `,
  // The Merkle trees of the logs: what would be expensive to compute from the entries, and what was signed.
  `
  CREATE TABLE tree_nodes (
    tree TEXT NOT NULL, level INTEGER NOT NULL, node_index INTEGER NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY (tree, level, node_index)) WITHOUT ROWID;
  CREATE TABLE log_checkpoints (root_index INTEGER PRIMARY KEY, document TEXT NOT NULL);
  `,
  // Only the number changes: an older release would take an erased request for one without a context.
  '',
  // Deliveries are found by the subject of their event. Responses to events of erased requests are removed.
  `
  ALTER TABLE deliveries ADD COLUMN subject TEXT;
  UPDATE deliveries SET subject = json_extract(document, '$.event.subject');
  CREATE INDEX deliveries_by_subject ON deliveries (subject);
  UPDATE deliveries SET document = json_set(document, '$.attempts', (
      SELECT json_group_array(json_set(value, '$.response', NULL)) FROM json_each(document, '$.attempts')))
    WHERE subject IN (SELECT id FROM decisions WHERE request_hash = '');
  `,
  // Only the document says whether an agent is suspended, because entries bind it: no column repeats it.
  `
  DROP INDEX agents_held;
  ALTER TABLE agents DROP COLUMN is_held;
  CREATE INDEX agents_written ON agents (id) WHERE document IS NOT NULL;
  `,
  // Only a decision with a trace is in the index, so the others cost nothing when they are written.
  `
  ALTER TABLE decisions ADD COLUMN trace_id TEXT;
  CREATE INDEX decisions_by_trace ON decisions (trace_id, at_ms, id) WHERE trace_id IS NOT NULL;
  `,
]

/** The schema version of this release. */
export const KNOWN_SCHEMA = MIGRATIONS.length

/** The file is a database of another program. */
export class ForeignDatabaseError extends Error {
  override readonly name = 'ForeignDatabaseError'
  constructor(path: string) {
    super(`${path} belongs to another program. Choose another data directory.`)
  }
}

/**
 * Refuses what this release must not touch; changes nothing.
 *
 * @throws NewerSchemaError, ForeignDatabaseError
 */
export function assertKnown(db: Connection, path: string): void {
  const isNew = db.get('SELECT 1 FROM sqlite_schema') === undefined
  if (!isNew && readInteger(db, 'application_id') !== APPLICATION_ID) throw new ForeignDatabaseError(path)
  const found = schemaVersionOf(db)
  if (found > KNOWN_SCHEMA) throw new NewerSchemaError(path, found, KNOWN_SCHEMA)
}

/** 0 for a new file. */
export function schemaVersionOf(db: Connection): number {
  return readInteger(db, 'user_version')
}

/** Whether the file is a store: not new, and not of another program. */
export function isStore(db: Connection): boolean {
  return readInteger(db, 'application_id') === APPLICATION_ID
}

/** Migrates a file of that version to the present schema, one transaction per version. Prepares no statement. */
export function migrate(db: Connection, found: number): void {
  for (const [version, migration] of MIGRATIONS.entries()) {
    if (version < found) continue
    db.executeAll(`
      ${migration};
      PRAGMA user_version = ${version + 1};
      PRAGMA application_id = ${APPLICATION_ID};
    `)
  }
}

/** Whether it has a log that readers and a writer share; a restored one does not yet. */
export function isWalMode(db: Connection): boolean {
  return db.get('PRAGMA journal_mode')?.journal_mode === 'wal'
}

function readInteger(db: Connection, pragma: string): number {
  return db.get(`PRAGMA ${pragma}`)?.[pragma] as number
}

/**
 * Switches to a log that readers and a writer share. Its pages are summed before they are copied into the database, so
 * only `checkpoints.ts` copies it. Prepares no statement.
 */
export function shareLog(db: Connection): void {
  db.execute(
    `PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}; PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = FULL`,
  )
}

/** Survives a loss of power: with `synchronous = FULL` each commit waits for the disk. */
export function configureWriter(db: Connection): void {
  shareLog(db)
  if (!isWalMode(db))
    throw new Error(
      'The file system of the data directory does not support shared memory, which the WAL mode of SQLite needs.',
    )
  db.execute('PRAGMA fullfsync = ON; PRAGMA cell_size_check = ON')
  // Overwrites deleted and replaced data. `wipe/` finds what SQLite leaves behind all the same.
  db.get('PRAGMA secure_delete = ON')
  // In KiB: writes are spread over the indexes, and a page that was dropped must be read again.
  db.execute('PRAGMA cache_size = -32768')
  // A log that grew while a reader kept an older state is cut to 64 MiB when it restarts.
  db.get('PRAGMA journal_size_limit = 67108864')
}

/**
 * The first read joins the log permanently: while a reader has joined, a writer that closes leaves the log as it is,
 * instead of locking readers out to remove it.
 */
export function configureReader(db: Connection): void {
  db.execute('PRAGMA busy_timeout = 2000; PRAGMA cell_size_check = ON')
  db.get('SELECT 1 FROM meta LIMIT 1')
}
