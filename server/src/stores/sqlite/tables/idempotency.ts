import type { IdempotencyRecord } from '../../../ports/store/documents.js'
import type { IdempotencyName } from '../../../ports/store/idempotency.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import type { Connection, Row } from '../driver.js'
import { readInOrder } from '../read-in-order.js'
import { isOpenAt } from './decisions.js'
import { ERASED } from './held-requests.js'

/** `now` is the placeholder of the time in milliseconds. */
const countsAt = (now: string) => `(idempotency.expires_ms > ${now}
  OR EXISTS (SELECT 1 FROM decisions WHERE decisions.id = idempotency.subject AND ${isOpenAt(now)}))`

export function idempotencyColumns(record: IdempotencyRecord) {
  const { key_id, operation, key, fingerprint, status, subject, created_at, expires_at } = record
  return [key_id, operation, key, fingerprint, status, subject, created_at, expires_at] as const
}
export type IdempotencyColumns = ReturnType<typeof idempotencyColumns>

/** Returns false when the name is taken by a record that is still valid when the new one is created. */
export function insertIdempotency(db: Connection, columns: IdempotencyColumns): boolean {
  const [keyId, operation, key, fingerprint, status, subject, createdAt, expiresAt] = columns
  const inserted = db.run(
    `INSERT INTO idempotency (key_id, operation, key, fingerprint, status, subject, created_ms, expires_ms)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
     ON CONFLICT (key_id, operation, key) DO UPDATE
     SET fingerprint = ?4, status = ?5, subject = ?6, created_ms = ?7, expires_ms = ?8 WHERE NOT ${countsAt('?7')}`,
    keyId,
    operation,
    key,
    fingerprint ?? ERASED,
    status,
    subject,
    Date.parse(createdAt),
    Date.parse(expiresAt),
  )
  return inserted === 1
}

/** Whether {@link insertIdempotency} would find the name taken. */
export function isTaken(db: Connection, [keyId, operation, key, , , , createdAt]: IdempotencyColumns): boolean {
  return findIdempotency(db, { key_id: keyId, operation, key }, createdAt) !== null
}

export function findIdempotency(db: Connection, name: IdempotencyName, now: string): IdempotencyRecord | null {
  const row = db.get(
    `SELECT * FROM idempotency WHERE key_id = ?1 AND operation = ?2 AND key = ?3 AND ${countsAt('?4')}`,
    name.key_id,
    name.operation,
    name.key,
    Date.parse(now),
  )
  return row === undefined ? null : recordOf(row)
}

/** Reads every record, also those that no longer count. */
export function readAllIdempotency(db: Connection, page: PageRequest): Promise<Page<IdempotencyRecord>> {
  return readInOrder(db, 'idempotency', page, {
    read: (seq) => db.get('SELECT * FROM idempotency WHERE seq = ?', seq),
    make: recordOf,
  })
}

/** Lists the names of all records, in the order in which they were written. */
export function listNames(db: Connection, after: string | null, limit: number): Page<IdempotencyName> {
  const rows = db.all(
    'SELECT seq, key_id, operation, key FROM idempotency WHERE seq > ? ORDER BY seq LIMIT ?',
    Number(after ?? 0),
    limit,
  )
  const items = rows.map(({ key_id, operation, key }) => {
    return { key_id: key_id as string, operation: operation as string, key: key as string }
  })
  return { items, next: rows.length < limit ? null : String(rows.at(-1)?.seq) }
}

const LARGEST_PURGE = 1000

export function purgeIdempotency(db: Connection, now: string): number {
  return db.run(
    `DELETE FROM idempotency WHERE seq IN (
       SELECT seq FROM idempotency WHERE expires_ms <= ?1 AND NOT ${countsAt('?1')} ORDER BY expires_ms LIMIT ${LARGEST_PURGE})`,
    Date.parse(now),
  )
}

function recordOf(row: Row): IdempotencyRecord {
  return {
    key_id: row.key_id as string,
    operation: row.operation as string,
    key: row.key as string,
    fingerprint: row.fingerprint === ERASED ? null : (row.fingerprint as string),
    status: row.status as number,
    subject: row.subject as string,
    created_at: new Date(row.created_ms as number).toISOString(),
    expires_at: new Date(row.expires_ms as number).toISOString(),
  }
}
