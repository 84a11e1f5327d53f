import type { StoredPolicy } from '../../../ports/store/documents.js'
import type { MovedPolicy } from '../../../ports/store/move.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import type { Conflict } from '../../../ports/store/store.js'
import type { Connection, Row } from '../driver.js'
import { readInOrder } from '../read-in-order.js'
import { readPage } from '../read-page.js'
import { documentReader } from './documents.js'

/** The `until_set` of a revision that still applies. */
const OPEN = Number.MAX_SAFE_INTEGER

const AFTER_EVERY_ID = '\u{10ffff}'

/**
 * A revision applies from its own set until the set of its replacement or deletion. A deletion closes the last revision
 * and is not a revision itself.
 */
export function writePolicy(db: Connection, policy: StoredPolicy, expectedVersion: number): Conflict | null {
  if (presentVersion(db, policy.id) !== expectedVersion) return 'version'
  if (policy.policy_set !== readPolicySet(db) + 1) return 'version'
  db.run(
    `UPDATE policies SET until_set = ?, deleted_at = ? WHERE id = ? AND until_set = ${OPEN}`,
    policy.policy_set,
    policy.deleted_at,
    policy.id,
  )
  writePolicySet(db, policy.policy_set)
  if (policy.deleted_at !== null) return null
  const inserted = db.run(
    `INSERT INTO policies (id, version, name, from_set, until_set, document) VALUES (?, ?, ?, ?, ${OPEN}, ?)
     ON CONFLICT (name) WHERE until_set = ${OPEN} DO NOTHING`,
    policy.id,
    policy.version,
    policy.document.name,
    policy.policy_set,
    JSON.stringify(policy),
  )
  return inserted === 1 ? null : 'policy_name'
}

export function loadPolicies(db: Connection): { policy_set: number; policies: readonly StoredPolicy[] } {
  return db.snapshot(() => {
    const rows = db.all(`SELECT id, version, document FROM policies WHERE until_set = ${OPEN}`)
    return { policy_set: readPolicySet(db), policies: rows.map(policyOf) }
  })
}

export function loadPoliciesOfSet(db: Connection, policySet: number): readonly StoredPolicy[] {
  const rows = db.all(
    'SELECT id, version, document FROM policies INDEXED BY policies_by_set WHERE until_set > ? AND from_set <= ?',
    policySet,
    policySet,
  )
  return rows.map(policyOf)
}

export function listPolicies(db: Connection, page: PageRequest): Promise<Page<StoredPolicy>> {
  const found = db.all(
    `SELECT id, seq FROM policies INDEXED BY policies_live_by_id
     WHERE until_set = ${OPEN} AND id < ? ORDER BY id DESC LIMIT ?`,
    page.after ?? AFTER_EVERY_ID,
    page.limit + 1,
  )
  return readPage(found, page, {
    read: (seq) => db.get('SELECT id, version, document FROM policies WHERE seq = ?', seq),
    make: policyOf,
    nameOf: ({ id }) => id as string,
  })
}

export function listPolicyRevisions(db: Connection, id: string, page: PageRequest): Promise<Page<StoredPolicy>> {
  const found = db.all(
    'SELECT version, seq FROM policies WHERE id = ? AND version < ? ORDER BY version DESC LIMIT ?',
    id,
    page.after === null ? OPEN : Number(page.after),
    page.limit + 1,
  )
  return readPage(found, page, {
    read: (seq) => db.get('SELECT id, version, deleted_at, document FROM policies WHERE seq = ?', seq),
    make: revisionOf,
    nameOf: ({ version }) => String(version),
  })
}

export function findPolicyRevision(db: Connection, id: string, revision: number): StoredPolicy | null {
  const row = db.get(
    'SELECT id, version, deleted_at, document FROM policies WHERE id = ? AND version = ?',
    id,
    revision,
  )
  return row === undefined ? null : revisionOf(row)
}

/** Reads every revision of every policy, as it was written. */
export function readAllRevisions(db: Connection, page: PageRequest): Promise<Page<MovedPolicy>> {
  return readInOrder(db, 'policies', page, {
    read: (seq) => db.get('SELECT id, version, until_set, deleted_at, document FROM policies WHERE seq = ?', seq),
    make: (row) => ({
      policy: policyOf(row),
      until_set: row.until_set === OPEN ? null : (row.until_set as number),
      deleted_at: row.deleted_at as string | null,
    }),
  })
}

function writePolicySet(db: Connection, policySet: number): void {
  db.run(
    "INSERT INTO meta (name, value) VALUES ('policy_set', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1",
    String(policySet),
  )
}

function readPolicySet(db: Connection): number {
  return Number(db.get("SELECT value FROM meta WHERE name = 'policy_set'")?.value ?? 0)
}

/** A deletion incremented the version, although it has no row. */
function presentVersion(db: Connection, id: string): number {
  const last = db.get('SELECT version, deleted_at FROM policies WHERE id = ? ORDER BY version DESC LIMIT 1', id)
  if (last === undefined) return 0
  return (last.version as number) + (last.deleted_at === null ? 0 : 1)
}

/** As it is now: the last revision of a deleted policy says when it was deleted. */
function revisionOf(row: Row): StoredPolicy {
  return { ...policyOf(row), deleted_at: row.deleted_at as string | null }
}

const policyOf = documentReader<StoredPolicy>('policy')
