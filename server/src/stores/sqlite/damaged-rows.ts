import { DamagedRecordError } from '../../ports/store/errors.js'
import type { Connection } from './driver.js'

/** The tables that every server loads at its start. */
const LOADED = { key: 'keys', policy: 'policies', agent: 'agents' } as const
type Loaded = keyof typeof LOADED

/**
 * Looks for rows that keep a server from starting. Reads texts as bytes, because the library aborts its process when it
 * reads one that is not UTF-8.
 *
 * @throws DamagedRecordError
 */
export function assertOwnDocuments(db: Connection): void {
  for (const kind of Object.keys(LOADED) as Loaded[]) {
    const row = db.get(
      `SELECT CAST(id AS BLOB) AS id, member, CASE WHEN member <> 'document'
           THEN CAST(document ->> ('$.' || member) AS BLOB) END AS stored FROM (
         SELECT id, document, CASE
           WHEN NOT json_valid(document) THEN 'document'
           WHEN document ->> '$.id' IS NOT id THEN 'id'
           WHEN document ->> '$.version' IS NOT version THEN 'version' END AS member
         FROM ${LOADED[kind]} WHERE document IS NOT NULL)
       WHERE member IS NOT NULL LIMIT 1`,
    )
    if (row === undefined) continue
    const text = (value: unknown) => Buffer.from((value ?? '') as unknown as ArrayBuffer).toString('utf8')
    const member = row.member as DamagedRecordError['member']
    throw new DamagedRecordError(kind, text(row.id), member, row.stored === null ? null : text(row.stored))
  }
}
