/** An entry in the Common Event Format, version 0. */
import type { AuditEntry } from '@countersign/client'
import { jsonLine } from '../../live/shown-text.js'
import { VERSION } from '../../version.js'
import { type Severity, seen, textIn } from './entry-kinds.js'

/** From 0 to 10. */
const SEVERITY: Readonly<Record<Severity, number>> = { informational: 1, low: 3, medium: 5, high: 8 }
/** The longest value of a custom string that the format allows. */
const MAX_CHARACTERS = 4_000

export function cefLine(entry: AuditEntry): string {
  const { kind, severity, status } = seen(entry)
  const header = ['Countersign', 'Countersign', VERSION, entry.type, kind.title, String(SEVERITY[severity])]
  const extension = Object.entries(fieldsOf(entry, status)).flatMap(([key, value]) =>
    value === null || value === undefined ? [] : [`${key}=${inExtension(value)}`],
  )
  return `CEF:0|${header.map(inHeader).join('|')}|${extension.join(' ')}`
}

function fieldsOf(entry: AuditEntry, outcome: string): Readonly<Record<string, string | null | undefined>> {
  const { id, log, index, at, actor, agent_id, subject, data, trace_id } = entry
  return {
    rt: String(Date.parse(at)),
    externalId: id,
    outcome,
    act: textIn(entry, 'effect'),
    reason: textIn(entry, 'reason_code'),
    suid: actor,
    suser: agent_id,
    cn1Label: 'index',
    cn1: String(index),
    cs1Label: 'log',
    cs1: log,
    cs2Label: 'subject',
    cs2: subject,
    cs3Label: 'action',
    cs3: textIn(entry, 'action') ?? '',
    cs4Label: 'data',
    cs4: jsonLine(data),
    ...(trace_id && { cs5Label: 'trace', cs5: trace_id }),
  }
}

/** What could end a line, or change how it looks. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u
const IN_HEADER = new RegExp(`[\\\\|]|${UNPRINTABLE.source}`, 'gu')
const IN_EXTENSION = new RegExp(`[\\\\=]|${UNPRINTABLE.source}`, 'gu')

/** Escapes the separator. A line end cannot be in the header. */
function inHeader(text: string): string {
  return text.replace(IN_HEADER, (one) => (UNPRINTABLE.test(one) ? ' ' : `\\${one}`))
}

/** Escapes what begins the next field: a value can neither end its line nor begin a field. */
function inExtension(text: string): string {
  return cut(text).replace(IN_EXTENSION, (one) => {
    if (one === '\n') return '\\n'
    if (one === '\r') return '\\r'
    return UNPRINTABLE.test(one) ? `\\\\u{${one.codePointAt(0)?.toString(16)}}` : `\\${one}`
  })
}

function cut(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS - 1)}…` : text
}
