import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Log } from '../ports/log.js'
import type { Metrics } from '../ports/metrics.js'
import type { Answer } from './reply.js'

export interface AccessLogDeps {
  readonly log: Log
  readonly metrics: Pick<Metrics, 'answered'>
}

export interface Answered {
  /** By `performance.now()`. */
  readonly startedMs: number
  /** The path of the route; null when there was none. */
  readonly template: string | null
  /** Null when the caller left before there was one. */
  readonly answer: Answer | null
}

const PATH_LENGTH = 512
/** An API key or a token that a caller put into a path by mistake. */
const SECRETS = /cs_sk_[^/]*|eyJ[^/]*/g

/** Logs and counts a response that is over. A log line has key, method, path and status; never headers, bodies or queries. */
export function recordAnswer(
  { log, metrics }: AccessLogDeps,
  req: IncomingMessage & { readonly originalUrl?: string },
  res: ServerResponse,
  { startedMs, template, answer }: Answered,
): void {
  const milliseconds = performance.now() - startedMs
  const method = req.method as string
  // Express takes the path of a mount out of `url`.
  const [path = ''] = (req.originalUrl ?? (req.url as string)).split('?', 1)
  const fields = {
    request_id: answer?.requestId,
    method,
    path: path.slice(0, PATH_LENGTH).replaceAll(SECRETS, '…'),
    status: res.statusCode,
    duration_ms: Math.round(milliseconds * 1000) / 1000,
    key_id: answer?.keyId,
  }
  // Whoever ends a stream, it lasted as long as somebody wanted it: its duration says nothing of the server.
  if (answer?.reply.stream !== undefined && res.headersSent && res.statusCode === answer.reply.status) {
    log.info(fields, 'a stream has ended')
    return
  }
  if (!res.writableFinished) {
    log.info(fields, 'not answered: the caller has disconnected')
    return
  }
  metrics.answered(template, method, res.statusCode, milliseconds)
  log.info(fields, 'answered')
}
