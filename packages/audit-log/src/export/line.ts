/** The lines of an export of audit logs: canonical JSON (RFC 8785), each of an entry or of a checkpoint, and nothing else. */
import type { AuditEntry } from '@countersign/contract'
import { canonicalJson } from '@countersign/contract/canonical-json'
import { leafHash } from '../leaf.js'

/** The line is not what a server writes. Nothing is known of what it should say. */
export class LineError extends Error {
  override readonly name = 'LineError'

  /** @param entry that the line says to be; null: nothing is known of it */
  constructor(
    message: string,
    readonly entry: Pick<AuditEntry, 'log' | 'index' | 'id'> | null = null,
  ) {
    super(message)
  }
}

/** The checkpoints of an export come first, in the order of the root log; that of the root log itself is the last of them. */
export type ExportLine =
  | { readonly kind: 'entry'; readonly entry: AuditEntry }
  | { readonly kind: 'checkpoint'; readonly note: string }

/** A line without its newline. @param note the signed note of a checkpoint */
export function checkpointLine(note: string): string {
  return canonicalJson({ checkpoint: note })
}

/**
 * @param line without its newline
 * @throws LineError
 */
export function parseExportLine(line: Uint8Array): ExportLine {
  const value = parseCanonical(line)
  if (typeof value !== 'object' || value === null) throw new LineError('It is no object.')
  if (isCheckpoint(value)) return { kind: 'checkpoint', note: value.checkpoint }
  if (!isEntry(value)) throw new LineError('It is neither an entry nor a checkpoint.')
  if (leafHash(value) !== value.leaf)
    throw new LineError(`Its leaf hash is not that of its contents: ${placeOf(value)}.`, value)
  return { kind: 'entry', entry: value }
}

/** Where an entry is, for a person. */
export function placeOf({ log, index, id }: Pick<AuditEntry, 'log' | 'index' | 'id'>): string {
  return `entry ${index} of log ${log} (${id})`
}

/** One text for one value: what another spelling could hide is not read. */
function parseCanonical(line: Uint8Array): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line)
  } catch {
    throw new LineError('It is not UTF-8.')
  }
  try {
    const value: unknown = JSON.parse(text)
    if (canonicalJson(value) === text) return value
  } catch {
    throw new LineError('It is no JSON.')
  }
  throw new LineError('It is not spelled as canonical JSON (RFC 8785).')
}

function isCheckpoint(value: object): value is { checkpoint: string } {
  return 'checkpoint' in value && typeof value.checkpoint === 'string' && Object.keys(value).length === 1
}

function isEntry(value: object): value is AuditEntry {
  const { log, index, id, leaf, type, subject, data } = value as Partial<AuditEntry>
  const texts = [log, id, leaf, type, subject]
  return (
    texts.every((text) => typeof text === 'string') &&
    Number.isSafeInteger(index) &&
    (index as number) >= 0 &&
    typeof data === 'object' &&
    data !== null
  )
}
