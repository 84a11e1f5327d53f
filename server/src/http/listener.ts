/**
 * The entry point of the API: a listener of node:http that is also a middleware of Express. It uses no feature of
 * Express.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Tracer } from '../ports/tracer.js'
import { type AccessLogDeps, recordAnswer } from './access-log.js'
import type { Api } from './api.js'
import { bodyOf } from './body-source.js'
import type { CallerStrategy } from './callers.js'
import type { Connections, Exchange } from './connections.js'
import type { Answer } from './reply.js'
import { isReading, type Route } from './route.js'
import { Router } from './router.js'
import { send } from './send.js'
import type { UnreadAnswers } from './unread-answers.js'

/** @param next called for a request to another path, which this listener has not touched */
export type Listener = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void

export interface ListenerDeps extends AccessLogDeps {
  readonly api: Api
  readonly routes: readonly Route[]
  readonly connections: Connections
  readonly unread: UnreadAnswers
  readonly tracer: Pick<Tracer, 'begin'>
  /** False once the server shuts down: connections then close after their answer. */
  readonly isServing: () => boolean
}

/** Where the API is mounted, and how callers are identified there. */
export interface Mount {
  /** Replaces the `/v1` of the routes. */
  readonly prefix: string
  readonly callers: CallerStrategy
}

const ROUTES_PREFIX = '/v1'

/** A listener for the API at one mount. */
export function apiListener(deps: ListenerDeps, { prefix, callers }: Mount): Listener {
  const { api, connections, log, tracer, unread, isServing } = deps
  const router = new Router(deps.routes)

  return (req, res, next) => {
    const [path, query] = targetOf(req.url as string)
    if (!path.startsWith(prefix) || (path.length > prefix.length && path[prefix.length] !== '/')) {
      next()
      return
    }
    const exchange = connections.exchange(req, res)
    if (exchange !== null) void answer(exchange, ROUTES_PREFIX + path.slice(prefix.length), query)
  }

  async function answer(exchange: Exchange, path: string, query: string): Promise<void> {
    const { req, res } = exchange
    const found = router.find(req.method as string, path)
    const span = tracer.begin(req.method as string, found.template, req.headers)
    let answered: Answer | null = null
    let release: (() => void) | null = null
    exchange.onEnd = () => {
      release?.()
      span?.end(res.headersSent ? res.statusCode : null)
      recordAnswer(deps, req, res, { startedMs: exchange.startedMs, template: found.template, answer: answered })
    }
    try {
      if (found.route === null) answered = await api.answerUnrouted(callers, req.headers, found.error)
      else
        answered = await api.answer(callers, found.route, {
          path,
          query,
          params: found.params,
          headers: req.headers,
          body: bodyOf(req),
          isWanted: () => !req.socket.destroyed,
          span,
          signal: () => {
            if (!isServing()) exchange.abort()
            return exchange.signal
          },
        })
      const { keyId, requestId, reply } = answered
      // There is no await between the check and `hold`: when many answers are ready, each is counted before the next
      // check.
      const isChecked = found.route !== null && isReading(found.route) && reply.status < 300
      const overLimit = isChecked && keyId !== undefined ? unread.overLimit(keyId) : null
      send(req, res, overLimit === null ? answered : api.refuse(answered, overLimit), {
        isLast: !isServing(),
        hold: (bytes) => {
          release?.()
          release = keyId === undefined || req.socket.destroyed ? null : unread.hold(keyId, bytes)
        },
        failed: (err) => log.error({ err, request_id: requestId }, 'a response was cut off'),
      })
    } catch (err) {
      log.error({ err }, 'an answer could not be sent')
      res.destroy()
    }
  }
}

/**
 * Splits a request target into path and query. It may be a whole URL (RFC 9112, 3.2.2). Drops a fragment, as Express
 * does.
 */
function targetOf(url: string): readonly [path: string, query: string] {
  const [given = ''] = url.includes('#') ? url.split('#', 1) : [url]
  const target = given.startsWith('/') ? given : given.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const at = target.indexOf('?')
  return at === -1 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)]
}
