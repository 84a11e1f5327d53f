import type { StoredDecision } from './documents.js'
import { DamagedRecordError, type OnDamaged } from './errors.js'

/** The columns of a row besides the document, by which the store finds it. */
interface RecordRow {
  readonly id: string
  readonly version: number
}

/**
 * Returns the document of a row.
 *
 * @param text JSON
 * @throws DamagedRecordError when it belongs to another record, or to another version of the record
 */
export function rowDocument<T extends RecordRow>(
  kind: DamagedRecordError['kind'],
  { id, version }: RecordRow,
  text: string,
): T {
  const document = objectOf(text)
  if (document === null) throw new DamagedRecordError(kind, id, 'document', null)
  if (document.id !== id) throw new DamagedRecordError(kind, id, 'id', plain(document.id))
  if (document.version !== version) throw new DamagedRecordError(kind, id, 'version', plain(document.version))
  return document as T
}

/**
 * Returns the document of a row that is found by its status and its end.
 *
 * @throws DamagedRecordError as `rowDocument`, and when the document has another status or another end
 */
export function openDocument(
  row: RecordRow & { readonly status: string; readonly expires_ms: number },
  text: string,
): StoredDecision {
  const document = rowDocument<StoredDecision>('decision', row, text)
  const { id, status, expires_at } = document
  if (status !== row.status) throw new DamagedRecordError('decision', id, 'status', plain(status))
  if (Date.parse(expires_at) !== row.expires_ms)
    throw new DamagedRecordError('decision', id, 'expires_at', plain(expires_at))
  return document
}

/**
 * Converts each row, and leaves out the damaged ones.
 *
 * @param onDamaged called with their errors
 * @throws DamagedRecordError of the first one, without `onDamaged`
 */
export function ofSoundRows<Row, Item>(
  rows: readonly Row[],
  make: (row: Row) => Item,
  onDamaged: OnDamaged | undefined,
): Item[] {
  return rows.flatMap((row) => {
    try {
      return [make(row)]
    } catch (error) {
      if (!(error instanceof DamagedRecordError) || onDamaged === undefined) throw error
      onDamaged(error)
      return []
    }
  })
}

/** For work that continues without the damaged rows. `audit verify --records` names them. */
export const leaveOut = (): void => {}

function objectOf(text: string): Partial<Record<keyof RecordRow, unknown>> | null {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? parsed : null
  } catch {
    return null
  }
}

function plain(value: unknown): string | number | null {
  return typeof value === 'string' || typeof value === 'number' ? value : null
}
