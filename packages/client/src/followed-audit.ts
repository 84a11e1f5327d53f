/** The audit log as a reader follows it: oldest first, over lost connections and restarts of the server. */
import { isRecord } from './answer.js'
import { nameOf } from './call.js'
import { AUDIT_ENDPOINTS } from './endpoints.js'
import { ApiError } from './errors/api-error.js'
import { UnavailableError } from './errors/unavailable-error.js'
import type { AuditFollowQuery, FollowedPage, FollowOptions } from './follow-options.js'
import { knownOptions } from './known-options.js'
import { callOf } from './operation.js'
import type { Lasting } from './requester.js'
import { isPassing, reconnectDelayMs } from './retry.js'
import type { StreamRequester } from './stream-requester.js'

/** How often a reader that has everything looks for more. */
const LOOK_EVERY_MS = 1_000

/** @throws TypeError for an unknown option; nothing is sent before the first page is requested */
export async function* followAudit(
  requester: StreamRequester,
  { after, ...filters }: AuditFollowQuery,
  options: FollowOptions,
): AsyncGenerator<FollowedPage, void, undefined> {
  const { signal, ...known } = knownOptions('audit.follow', options, ['signal', 'untilEnd', 'onRetry'])
  try {
    yield* requester.lasting(signal, (lasting) => read(requester, filters, after, lasting, known))
  } catch (error) {
    if (!signal?.aborted) throw error
  }
}

async function* read(
  requester: StreamRequester,
  filters: AuditFollowQuery,
  start: string | undefined,
  lasting: Lasting,
  { untilEnd = false, onRetry }: Omit<FollowOptions, 'signal'>,
): AsyncGenerator<FollowedPage, void, undefined> {
  let after = start
  const startedAt = new Date().toISOString()
  for (let attempt = 0; ; ) {
    const page = await pageAfter(requester, { ...filters, after }, lasting).catch((fault: unknown) => {
      if (lasting.signal.aborted || !isPassing(fault)) throw fault
      return fault
    })
    if (page instanceof Error) {
      onRetry?.(page)
      attempt += 1
      const retryAfterSeconds = ApiError.isInstance(page) ? page.retryAfterSeconds : null
      await lasting.pause(reconnectDelayMs(attempt, { retryAfterSeconds }, requester.random()))
      continue
    }
    attempt = 0
    // The same cursor says that nothing came since.
    const isAtEnd = page.next_cursor === after
    after = page.next_cursor
    if (!isAtEnd) yield page
    // A busy log has no end: what came after the start is for the next time.
    if (untilEnd && (isAtEnd || (page.data.at(-1)?.at ?? '') > startedAt)) return
    if (isAtEnd) await lasting.pause(LOOK_EVERY_MS)
  }
}

async function pageAfter(
  requester: StreamRequester,
  query: AuditFollowQuery,
  { signal }: Lasting,
): Promise<FollowedPage> {
  const call = callOf(AUDIT_ENDPOINTS['audit.list'], { query: { order: 'asc', ...query }, options: { signal } })
  const answer = await requester.send(call)
  if (isRecord(answer) && Array.isArray(answer.data) && typeof answer.next_cursor === 'string')
    return { data: answer.data, next_cursor: answer.next_cursor }
  throw new UnavailableError('bad_answer', `${nameOf(call)}: the answer is not a page of the log, oldest first`, {
    status: 200,
  })
}
