import type { ServerResponse } from 'node:http'
import type { Log } from '../ports/log.js'

export interface Answered {
  readonly method: string
  /** As it was sent, with its query. */
  readonly url: string
  readonly milliseconds: number
  /** The API key that asked, where there was a valid one. */
  readonly keyId: string | undefined
}

const PATH_LENGTH = 512
/** A key or a token that somebody put into a path by mistake. */
const SECRETS = /cs_sk_[^/]*|eyJ[^/]*/g

/** One line a request: who asked for what, and what came of it. Never headers, bodies or queries. */
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
