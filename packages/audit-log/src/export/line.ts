/** The lines of an export of audit logs: canonical JSON (RFC 8785), each of exactly one entry or checkpoint. */
import type { AuditEntry } from '@countersign/contract'
import { canonicalJson } from '@countersign/contract/canonical-json'
import { leafHash } from '../leaf.js'

/** No server writes such a line. It is unknown what it should contain. */
export class LineError extends Error {
  override readonly name = 'LineError'

  /** @param entry that the line claims to be; null when unknown */
  constructor(
    message: string,
    readonly entry: Pick<AuditEntry, 'log' | 'index' | 'id'> | null = null,
  ) {
    super(message)
  }
}

/** The checkpoints of an export come first, in the order of the root log, whose own checkpoint is the last of them. */
export type ExportLine =
  | { readonly kind: 'entry'; readonly entry: AuditEntry }
  | { readonly kind: 'checkpoint'; readonly note: string }
  /** The last line of an export that could not be completed. */
  | { readonly kind: 'problem'; readonly problem: string }

/** A line without its newline. @param note the signed note of a checkpoint */
export function checkpointLine(note: string): string {
  return canonicalJson({ checkpoint: note })
}

/** @param problem a sentence on why the export ends here */
export function problemLine(problem: string): string {
  return canonicalJson({ problem })
}

/**
 * @param line without its newline
 * @throws LineError
 */
export function parseExportLine(line: Uint8Array): ExportLine {
  const value = parseCanonical(line)
  if (typeof value !== 'object' || value === null) throw new LineError('It is not an object.')
  if (isText(value, 'checkpoint')) return { kind: 'checkpoint', note: value.checkpoint }
  if (isText(value, 'problem')) return { kind: 'problem', problem: value.problem }
  if (!isEntry(value)) throw new LineError('It is neither an entry nor a checkpoint.')
  if (leafHash(value) !== value.leaf)
    throw new LineError(`Its leaf hash is not that of its contents: ${placeOf(value)}.`, value)
  return { kind: 'entry', entry: value }
}

/** Describes the place of an entry for a person. */
export function placeOf({ log, index, id }: Pick<AuditEntry, 'log' | 'index' | 'id'>): string {
  return `entry ${index} of log ${log} (${id})`
}

/** Accepts only the canonical text of a value, because another spelling could hide something. */
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
    throw new LineError('It is not JSON.')
  }
  throw new LineError('It is not spelled as canonical JSON (RFC 8785).')
}

/** Whether its only member is a text with that name. */
function isText<Name extends string>(value: object, name: Name): value is { [name in Name]: string } {
  const [[member, text] = [], ...more] = Object.entries(value)
  return member === name && typeof text === 'string' && more.length === 0
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
