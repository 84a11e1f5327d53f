/** The only place that turns errors into answers. Callers see the text of the catalogue; causes go to the log. */
import { ERRORS, type ErrorCode, type Problem } from '@countersign/contract'
import { DomainError } from '../domain-error.js'
import type { Log } from '../ports/log.js'
import { StoreUnavailableError } from '../ports/store/errors.js'
import { BudgetBusyError } from '../ports/store/ledger.js'
import type { Reply } from './reply.js'

export function problemReply(error: unknown, requestId: string, log: Log): Reply {
  const known = asDomainError(error)
  if (known.code === 'internal_error') log.error({ err: error, request_id: requestId }, 'request failed')
  if (known.code === 'store_unavailable') log.error({ err: error, request_id: requestId }, 'store unavailable')
  const entry = ERRORS[known.code]
  const body: Problem = {
    type: `/docs/errors#${known.code}`,
    title: entry.title,
    status: entry.status,
    detail: known.detail,
    code: known.code,
    request_id: requestId,
    ...(known.errors !== undefined && { errors: [...known.errors] }),
    ...(known.currentStatus !== undefined && { current_status: known.currentStatus }),
  }
  return {
    status: entry.status,
    headers: { 'Content-Type': 'application/problem+json', ...DEFAULT_HEADERS[known.code], ...known.headers },
    body,
  }
}

const DEFAULT_HEADERS: { readonly [code in ErrorCode]?: Readonly<Record<string, string>> } = {
  unauthorized: { 'WWW-Authenticate': 'Bearer' },
  store_unavailable: { 'Retry-After': '1' },
  budget_busy: { 'Retry-After': '1' },
  replica_stale: { 'Retry-After': '1' },
}

function asDomainError(error: unknown): DomainError {
  if (error instanceof DomainError) return error
  if (error instanceof StoreUnavailableError)
    return new DomainError('store_unavailable', { detail: 'Nothing was permitted.', cause: error })
  if (error instanceof BudgetBusyError) return new DomainError('budget_busy', { cause: error })
  return new DomainError('internal_error', { cause: error })
}
