/** The stored parts of requests besides the audit log, and how they are erased. */

import type { HeldRequestFilter } from '../../../ports/store/decisions.js'
import type { StoredDecision } from '../../../ports/store/documents.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import type { Connection, Row } from '../driver.js'

/** The value of an erased hash, where the column must not be null. */
export const ERASED = ''

/** `updateDecision` writes the decision itself. */
export function eraseRequest(db: Connection, id: string): void {
  db.run(
    `UPDATE idempotency SET fingerprint = '${ERASED}' WHERE subject = ?1
     AND fingerprint = (SELECT request_hash FROM decisions WHERE id = ?1)`,
    id,
  )
  db.run(
    `UPDATE decisions SET resource = NULL, request_hash = '${ERASED}', request_context = NULL, request_salt = NULL
     WHERE id = ?`,
    id,
  )
  noteErasure(db)
}

/** The most rows that are visited before other work gets its turn. */
const LARGEST_CHUNK = 500
const CURSOR = /^(-?\d+)\/(.*)$/s

export async function listHeldRequests(
  db: Connection,
  { agent_id, evaluated_from, evaluated_before }: HeldRequestFilter,
  { limit, after, pause }: PageRequest,
): Promise<Page<Pick<StoredDecision, 'id' | 'evaluated_at'>>> {
  const narrowed = agent_id === undefined ? 'decisions_by_time WHERE' : 'decisions_by_agent WHERE agent_id = ? AND'
  const read = (ms: number, id: string, rows: number): readonly Row[] =>
    db.all(
      `SELECT id, at_ms, request_salt IS NOT NULL AS is_held FROM decisions INDEXED BY ${narrowed}
       (at_ms, id) > (?, ?) AND at_ms < ? ORDER BY at_ms, id LIMIT ?`,
      ...(agent_id === undefined ? [] : [agent_id]),
      ms,
      id,
      evaluated_before === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(evaluated_before),
      rows,
    )
  const first = evaluated_from === undefined ? Number.MIN_SAFE_INTEGER : Date.parse(evaluated_from)
  const [, afterMs = `${first}`, afterId = ''] = CURSOR.exec(after ?? '') ?? []
  let [ms, id] = Number(afterMs) < first ? [first, ''] : [Number(afterMs), afterId]
  const found: Row[] = []
  for (let chunk = limit + 1; ; chunk = Math.min(2 * chunk, LARGEST_CHUNK)) {
    const rows = read(ms, id, chunk)
    found.push(...rows.filter(({ is_held }) => is_held === 1))
    const last = rows.at(-1)
    if (found.length > limit || last === undefined || rows.length < chunk) break
    ;[ms, id] = [last.at_ms as number, last.id as string]
    await pause?.()
  }
  const items = found.slice(0, limit)
  const last = items.at(-1)
  return {
    items: items.map((row) => ({ id: row.id as string, evaluated_at: new Date(row.at_ms as number).toISOString() })),
    next: found.length > limit ? `${last?.at_ms}/${last?.id}` : null,
  }
}

/** How often data was erased or removed, and that number when the files were last wiped. */
export interface Erasures {
  readonly erased: number
  readonly wiped: number
}

const ERASED_COUNT = 'erasures'
const WIPED_COUNT = 'erasures_wiped'

/** In the same transaction as the erasure or removal, so that the files are still wiped after a crash. */
export function noteErasure(db: Connection): void {
  db.run(
    `INSERT INTO meta (name, value) VALUES ('${ERASED_COUNT}', '1') ON CONFLICT (name) DO UPDATE SET value = value + 1`,
  )
}

/** @param erased the number that `readErasures` returned before the files were wiped */
export function noteWiped(db: Connection, erased: number): void {
  db.run('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)', WIPED_COUNT, `${erased}`)
}

export function readErasures(db: Connection): Erasures {
  const count = (name: string) => Number(db.get('SELECT value FROM meta WHERE name = ?', name)?.value ?? 0)
  return { erased: count(ERASED_COUNT), wiped: count(WIPED_COUNT) }
}
