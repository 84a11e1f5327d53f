import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../ports/log.js'
import type { Metrics } from '../ports/metrics.js'
import type { Answer } from './reply.js'

export interface AccessLogDeps {
  readonly log: Log
  readonly metrics: Pick<Metrics, 'answered'>
}

export interface Answered {
  /** In the time of `performance.now()`. */
  readonly startedMs: number
  /** The path template of the route; null when no route matched. */
  readonly template: string | null
  /** Null when the caller disconnected before there was one. */
  readonly answer: Answer | null
}

const PATH_LENGTH = 512
/** An API key or token that a caller put into the path by mistake. */
const SECRETS = /cs_sk_[^/]*|eyJ[^/]*/g

/**
 * Logs and counts a finished response. A log line contains key, method, path and status; never headers, bodies or
 * queries.
 */
export function recordAnswer(
  { log, metrics }: AccessLogDeps,
  req: IncomingMessage & { readonly originalUrl?: string },
  res: ServerResponse,
  { startedMs, template, answer }: Answered,
): void {
  const milliseconds = performance.now() - startedMs
  const method = req.method as string
  // Express removes the path of a mount from `url`.
  const [path = ''] = (req.originalUrl ?? (req.url as string)).split('?', 1)
  const fields = {
    request_id: answer?.requestId,
    method,
    path: path.slice(0, PATH_LENGTH).replaceAll(SECRETS, '…'),
    status: res.statusCode,
    duration_ms: Math.round(milliseconds * 1000) / 1000,
    key_id: answer?.keyId,
  }
  // A stream lasts as long as its reader wants it, whichever side ends it, so its duration says nothing about the
  // server.
  if (answer?.reply.stream !== undefined && res.headersSent && res.statusCode === answer.reply.status) {
    log.info(fields, 'a stream has ended')
    return
  }
  if (answer !== null && answer.reply.status >= 400 && res.headersSent && res.statusCode < 300) {
    log.info({ ...fields, status: answer.reply.status }, 'refused a reader of live events who has waited for the start')
    return
  }
  if (!res.writableFinished) {
    log.info(fields, 'not answered: the caller has disconnected')
    return
  }
  metrics.answered(template, method, res.statusCode, milliseconds)
  log.info(fields, 'answered')
}
