/** Express passes requests to the API and sends its answers. It decides nothing. */
import type { Express, Request, Response } from 'express'
import { DomainError } from '../domain-error.js'
import type { Log } from '../ports/log.js'
import type { Metrics } from '../ports/metrics.js'
import { logAnswer } from './access-log.js'
import type { Api } from './api.js'
import type { BodySource } from './body.js'
import { DISCARDED_BYTES, newExpressApp, send } from './express-reply.js'
import type { PublicPage } from './public-pages.js'
import { isReading, type Route } from './route.js'
import type { UnreadAnswers } from './unread-answers.js'

export interface ExpressAppOptions {
  /** Pages that need no API key, on paths outside /v1. */
  readonly publicPages: readonly PublicPage[]
  readonly log: Log
  readonly metrics: Pick<Metrics, 'answered'>
  readonly unread: UnreadAnswers
  /** False once the server shuts down: connections are closed after their answer. */
  readonly isServing: () => boolean
}

export function expressApp(api: Api, routes: readonly Route[], options: ExpressAppOptions): Express {
  const app = newExpressApp()
  app.use((req, res, next) => {
    const started = performance.now()
    res.once('close', () => {
      const milliseconds = performance.now() - started
      const template = templates.get(req.route?.path) ?? null
      if (res.writableFinished) options.metrics.answered(template, req.method, res.statusCode, milliseconds)
      logAnswer(options.log, res, { method: req.method, url: req.originalUrl, milliseconds, keyId: res.locals.keyId })
    })
    if (!options.isServing()) res.setHeader('Connection', 'close')
    next()
  })
  const templates = new Map<string, string>()
  const routeOf = (path: string) => {
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    templates.set(pattern, path)
    return app.route(pattern)
  }
  for (const { path, answer } of options.publicPages) {
    routeOf(path)
      .get(async (req, res) => send(req, res, await api.answerPublic(req.headers, () => answer(req.headers))))
      .all((req, res) => send(req, res, api.problem(req.headers, methodNotAllowed(['GET']))))
  }

  for (const [path, methods] of byPath(routes)) {
    const expressRoute = routeOf(path)
    for (const route of methods) {
      expressRoute[METHODS[route.method]](async (req: Request, res: Response) => {
        const request = {
          path: req.path,
          params: req.params as Record<string, string>,
          query: queryText(req.originalUrl),
          headers: req.headers,
          body: bodyOf(req),
          isWanted: () => !req.socket.destroyed,
        }
        const reply = await api.answer(route, request)
        const { keyId } = reply
        if (keyId === undefined) {
          send(req, res, reply)
          return
        }
        // No await between the check and `hold`: of many answers that are ready, each is counted before the next check.
        const overLimit = isReading(route) && reply.status < 300 ? options.unread.overLimit(keyId) : null
        const sent = overLimit === null ? reply : { ...api.problem(req.headers, overLimit), keyId }
        send(req, res, sent, (bytes) => options.unread.hold(keyId, bytes, res))
      })
    }
    const error = methodNotAllowed(methods.map((route) => route.method))
    expressRoute.all(async (req, res) => send(req, res, await api.answerUnrouted(req.headers, error)))
  }
  const notFound = new DomainError('not_found')
  app.use('/v1', async (req, res) => send(req, res, await api.answerUnrouted(req.headers, notFound)))
  app.use((req, res) => send(req, res, api.problem(req.headers, notFound)))
  app.use(async (error: unknown, req: Request, res: Response, _next: unknown) => {
    // A path that cannot be decoded does not exist. Every other error here is an error of this server.
    const cause = error instanceof URIError ? notFound : error
    const isApi = req.originalUrl.startsWith('/v1/')
    send(req, res, isApi ? await api.answerUnrouted(req.headers, cause) : api.problem(req.headers, cause))
  })
  return app
}

const METHODS = { GET: 'get', POST: 'post', PUT: 'put', DELETE: 'delete' } as const

function methodNotAllowed(allowed: readonly string[]): DomainError {
  const list = allowed.join(', ')
  return new DomainError('method_not_allowed', { detail: `Allowed methods: ${list}.`, headers: { Allow: list } })
}

/** Literal paths come before paths with parameters, so that `self` in `/v1/keys/self` is not read as an id. */
function byPath(routes: readonly Route[]): [string, Route[]][] {
  const grouped = new Map<string, Route[]>()
  for (const route of routes) grouped.set(route.path, [...(grouped.get(route.path) ?? []), route])
  return [...grouped].sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
}

function queryText(url: string): string {
  const start = url.indexOf('?')
  return start === -1 ? '' : url.slice(start + 1)
}

function bodyOf(req: Request): BodySource {
  return async (maxBytes) => {
    const chunks: Buffer[] = []
    let length = 0
    try {
      for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        length += chunk.length
        if (length <= maxBytes) chunks.push(chunk)
        else if (length > DISCARDED_BYTES) break
      }
    } catch (cause) {
      throw new DomainError('malformed_json', { detail: 'The body ended early.', cause })
    }
    return length > maxBytes ? null : Buffer.concat(chunks, length)
  }
}
