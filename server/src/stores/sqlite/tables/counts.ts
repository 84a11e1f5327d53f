import type { CountFilter, StoredCount } from '../../../ports/store/feed.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import type { Connection, Row } from '../driver.js'

export function writeCounts(db: Connection, counts: readonly StoredCount[]): void {
  for (const { id, series, starts_ms, document } of counts)
    db.run(
      `INSERT INTO counts (id, series, starts_ms, document) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (id) DO UPDATE SET series = ?2, starts_ms = ?3, document = ?4`,
      id,
      series,
      starts_ms,
      JSON.stringify(document),
    )
}

export function listCounts(
  db: Connection,
  { series, from_ms, to_ms }: CountFilter,
  limit: number,
): readonly StoredCount[] {
  const rows = db.all(
    `SELECT id, series, starts_ms, document FROM counts INDEXED BY counts_by_start
     WHERE series = ? AND starts_ms >= ? AND starts_ms < ? ORDER BY starts_ms, id LIMIT ?`,
    series,
    from_ms,
    to_ms,
    limit,
  )
  return rows.map(countOf)
}

export function readAllCounts(db: Connection, { limit, after }: PageRequest): Page<StoredCount> {
  const rows = db.all(
    'SELECT id, series, starts_ms, document FROM counts WHERE id > ? ORDER BY id LIMIT ?',
    after ?? '',
    limit,
  )
  return { items: rows.map(countOf), next: rows.length < limit ? null : (rows.at(-1)?.id as string) }
}

const LARGEST_REMOVAL = 1000

export function removeCounts(db: Connection, series: string, beforeMs: number): number {
  return db.run(
    `DELETE FROM counts WHERE id IN (
       SELECT id FROM counts INDEXED BY counts_by_start
       WHERE series = ? AND starts_ms < ? ORDER BY starts_ms, id LIMIT ${LARGEST_REMOVAL})`,
    series,
    beforeMs,
  )
}

function countOf(row: Row): StoredCount {
  return {
    id: row.id as string,
    series: row.series as string,
    starts_ms: row.starts_ms as number,
    document: JSON.parse(row.document as string),
  }
}
