import type { ServerResponse } from 'node:http'
import type { Log } from '../ports/log.js'

export interface Answered {
  readonly method: string
  /** As sent, with the query. */
  readonly url: string
  readonly milliseconds: number
  /** The caller's API key, when it was valid. */
  readonly keyId: string | undefined
}

const PATH_LENGTH = 512
/** An API key or a token that a caller put into a path by mistake. */
const SECRETS = /cs_sk_[^/]*|eyJ[^/]*/g

/** Logs one line per request: key, method, path and status. Never headers, bodies or queries. */
export function logAnswer(log: Log, res: ServerResponse, { method, url, milliseconds, keyId }: Answered): void {
  const [path = ''] = url.split('?', 1)
  const fields = {
    request_id: res.getHeader('X-Request-Id'),
    method,
    path: path.slice(0, PATH_LENGTH).replaceAll(SECRETS, '…'),
    status: res.statusCode,
    duration_ms: Math.round(milliseconds * 1000) / 1000,
    key_id: keyId,
  }
  if (res.writableFinished) log.info(fields, 'answered')
  else log.info(fields, 'not answered: the caller has disconnected')
}
