/** Express serves the pages around the API. It decides nothing. */
import express, { type Express, type Request, type Response, Router } from 'express'
import { DomainError } from '../domain-error.js'
import { type AccessLogDeps, recordAnswer } from './access-log.js'
import type { Api } from './api.js'
import type { Connections } from './connections.js'
import type { Listener } from './listener.js'
import type { PublicPage } from './public-pages.js'
import type { Answer, Reply } from './reply.js'
import { methodNotAllowed } from './router.js'
import { send } from './send.js'

export interface PagesDeps extends AccessLogDeps {
  readonly api: Api
  readonly connections: Connections
  /** False once the server shuts down: connections are closed after their answer. */
  readonly isServing: () => boolean
}

/** The API and the pages, to be mounted in an application of Express. It leaves other paths to the application. */
export function countersignRouter(deps: PagesDeps, listener: Listener, pages: readonly PublicPage[]): Listener {
  const router = Router({ strict: true, caseSensitive: true })
  router.use(listener)
  for (const { path, answer } of pages) {
    router
      .route(path)
      .get((req, res) => reply(deps, req, res, path, () => answer(req.headers)))
      .all((req, res) => refuse(deps, req, res, path, methodNotAllowed(['GET'])))
  }
  return (req, res, next) => router(req as Request, res as Response, next)
}

/** The same as an application of its own: any other path is a problem. */
export function expressApp(deps: PagesDeps, router: Listener): Express {
  const app = express()
  app.disable('etag').disable('x-powered-by').set('query parser', false)
  app.use(router)
  app.use((req, res) => refuse(deps, req, res, null, new DomainError('not_found')))
  app.use((error: unknown, req: Request, res: Response, _next: unknown) => refuse(deps, req, res, null, error))
  return app
}

function refuse(deps: PagesDeps, req: Request, res: Response, template: string | null, error: unknown): Promise<void> {
  return reply(deps, req, res, template, () => Promise.reject(error))
}

async function reply(
  deps: PagesDeps,
  req: Request,
  res: Response,
  template: string | null,
  make: () => Reply | Promise<Reply>,
): Promise<void> {
  const exchange = deps.connections.exchange(req, res)
  if (exchange === null) return
  let answer: Answer | null = null
  exchange.onEnd = () => recordAnswer(deps, req, res, { startedMs: exchange.startedMs, template, answer })
  answer = await deps.api.answerPublic(req.headers, make)
  send(req, res, answer, { isLast: !deps.isServing() })
}
