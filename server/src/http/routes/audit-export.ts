import { withDeadline } from '@countersign/concurrency'
import { AuditEntrySchema, ExportedCheckpointSchema } from '@countersign/contract'
import { StoreUnavailableError } from '@countersign/store-port/store'
import { DomainError } from '../../domain-error.js'
import { type ExportDeps, exportLogs } from '../../use-cases/audit/export.js'
import { type Route, route } from '../route.js'

/** How many are in progress at a time: each reads all logs. */
const MAX_EXPORTS = 4
/** How long an export may take until its first line. */
const BEGIN_MS = 8000

export function auditExportRoute(deps: ExportDeps): Route {
  let inProgress = 0
  /** @throws DomainError rate_limited */
  const enter = (signal: AbortSignal): void => {
    if (signal.aborted) return
    if (inProgress >= MAX_EXPORTS)
      throw new DomainError('rate_limited', {
        detail: `${MAX_EXPORTS} exports are in progress. Retry when one has ended.`,
        headers: { 'Retry-After': '5' },
      })
    inProgress += 1
    const leave = () => {
      inProgress -= 1
    }
    // It is aborted at the end, however that comes.
    signal.addEventListener('abort', leave, { once: true })
  }
  return route({
    method: 'GET',
    path: '/v1/audit/export',
    name: 'audit.export',
    isUnbounded: true,
    summary: 'Export all audit logs with their checkpoints, for a verifier.',
    scopes: { all: ['audit:read'] },
    answer: {
      status: 200,
      description:
        'The checkpoints in the order of the root log, then that of the root log itself, then the entries log by log, as of when the export began. Each line is canonical JSON (RFC 8785). After a fault the connection breaks, and the export is incomplete.',
      lines: [ExportedCheckpointSchema, AuditEntrySchema],
    },
    problems: ['store_unavailable'],
    handle: async ({ pause, callerNow, signal: signalOf }) => {
      const signal = signalOf()
      enter(signal)
      const between = async () => {
        await pause()
        callerNow()
      }
      const late = () => new StoreUnavailableError(`The export did not begin within ${BEGIN_MS} ms.`)
      const { pieces } = await withDeadline(exportLogs(deps, between), BEGIN_MS, late)
      return { headers: { 'Content-Type': 'application/x-ndjson' }, stream: pieces, cutOff: signal }
    },
  })
}
