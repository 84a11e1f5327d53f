/** Express serves the pages around the API. It makes no decisions. */
import express, { type Express, type Request, type Response, Router } from 'express'
import { DomainError } from '../domain-error.js'
import { recordAnswer } from './access-log.js'
import { bodyOf } from './body-source.js'
import type { DashboardPages } from './dashboard/files.js'
import type { Listener, ListenerDeps } from './listener.js'
import type { PublicPage } from './public-pages.js'
import type { Answer, Reply } from './reply.js'
import { methodNotAllowed } from './router.js'
import { send } from './send.js'

export type PagesDeps = Omit<ListenerDeps, 'routes' | 'unread'>

/** The API and the pages, for mounting in an Express application. The application handles all other paths. */
export function countersignRouter(deps: PagesDeps, listener: Listener, pages: readonly PublicPage[]): Listener {
  const router = Router({ strict: true, caseSensitive: true })
  router.use(listener)
  for (const { path, method = 'GET', answer } of pages) {
    const verb = method.toLowerCase() as 'get' | 'post' | 'delete'
    router[verb](path, (req, res) => reply(deps, req, res, path, () => answer(req.headers, bodyOf(req))))
  }
  for (const path of new Set(pages.map((page) => page.path))) {
    const allowed = pages.flatMap((page) => (page.path === path ? [page.method ?? 'GET'] : []))
    router.all(path, (req, res) => refuse(deps, req, res, path, methodNotAllowed(allowed)))
  }
  return (req, res, next) => router(req as Request, res as Response, next)
}

/** The dashboard of a standalone server, at its root, with the API for sessions. */
export interface Dashboard {
  readonly files: DashboardPages
  /** `/dashboard/v1` */
  readonly api: Listener
  /** `/dashboard/session` */
  readonly sessions: readonly PublicPage[]
}

/** The same as a standalone application, with the dashboard. Any other path answers with a problem. */
export function expressApp(deps: PagesDeps, router: Listener, dashboard: Dashboard): Express {
  const app = express()
  app.disable('etag').disable('x-powered-by').set('query parser', false)
  app.use(router)
  app.use(countersignRouter(deps, dashboard.api, dashboard.sessions))
  app.use((req, res, next) => {
    const isRead = req.method === 'GET' || req.method === 'HEAD'
    const template = isRead ? dashboard.files.templateOf(req.path, req.headers) : null
    if (template === null) next()
    else void reply(deps, req, res, template, () => dashboard.files.answer(req.path, req.headers))
  })
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
