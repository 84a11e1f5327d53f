import type { DecisionDetail } from '@countersign/contract'
import { type DecisionFilters, listDecisions } from '../../api/decisions'
import { type Everything, everyPage } from '../../api/every-page'
import { download } from '../../components/download'

/** More than this is a task for the API, page by page. */
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
] as const

export interface Exported {
  readonly count: number
  /** Whether these are all that match. */
  readonly isComplete: boolean
}

/** Reads the decisions that match, and hands them to the browser as a file. @throws ApiError */
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

/** The decisions that match, the newest first, as many as are exported at most. @throws ApiError */
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

/** A permit stays with the one who asked. */
export function ndjsonOf(decisions: readonly DecisionDetail[]): string {
  return decisions.map(({ permit_token: _permit, ...rest }) => `${JSON.stringify(rest)}\n`).join('')
}

/** A spreadsheet takes a text with such a beginning for a formula, which could send the table away. An agent chooses the texts. */
const FORMULA = /^\s*[=+\-@|＝＋－＠]/

function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const safe = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n;\t]/.test(safe) || safe !== value ? `"${safe.replaceAll('"', '""')}"` : safe
}
