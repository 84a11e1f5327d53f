import type { DecisionDetail } from '@countersign/contract'
import { type DecisionFilters, listDecisions } from '../../api/decisions'
import { type Everything, everyPage } from '../../api/every-page'
import { download } from '../../components/download'

/** For more than this, use the API. */
const MOST_EXPORTED = 10_000
const PAGE_SIZE = 200

const COLUMNS = [
  'id',
  'evaluated_at',
  'agent_id',
  'action',
  'resource',
  'effect',
  'status',
  'reason_code',
  'reason',
  'policy_id',
  'rule',
  'latency_ms',
  'key_id',
  'request_hash',
  'trace_id',
] as const

export interface Exported {
  readonly count: number
  /** Whether every matching decision was exported. */
  readonly isComplete: boolean
}

/** Lets the user download the matching decisions as a file. @throws ApiError */
export async function exportDecisions(
  filters: DecisionFilters,
  format: 'csv' | 'ndjson',
  onProgress: (read: number) => void,
): Promise<Exported> {
  const { items, isComplete } = await readDecisions(filters, onProgress)
  const text = format === 'csv' ? csvOf(items) : ndjsonOf(items)
  download(`decisions-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.${format}`, text)
  return { count: items.length, isComplete }
}

/** Reads the matching decisions, newest first, up to the limit of an export. @throws ApiError */
export function readDecisions(
  filters: DecisionFilters,
  onProgress: (read: number) => void,
): Promise<Everything<DecisionDetail>> {
  let read = 0
  return everyPage(async (cursor) => {
    const page = await listDecisions({ ...filters, limit: PAGE_SIZE, cursor })
    read += page.data.length
    onProgress(read)
    return page
  }, MOST_EXPORTED)
}

export function csvOf(decisions: readonly DecisionDetail[]): string {
  const lines = decisions.map((decision) => COLUMNS.map((name) => cell(decision[name])).join(','))
  return `${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`
}

/** Leaves out permits, which belong to the requesting key alone. */
export function ndjsonOf(decisions: readonly DecisionDetail[]): string {
  return decisions.map(({ permit_token: _permit, ...rest }) => `${JSON.stringify(rest)}\n`).join('')
}

/** A spreadsheet runs a text with this start as a formula, which could send the table elsewhere. Agents choose these texts. */
const FORMULA = /^\s*[=+\-@|＝＋－＠]/

function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const safe = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n;\t]/.test(safe) || safe !== value ? `"${safe.replaceAll('"', '""')}"` : safe
}
