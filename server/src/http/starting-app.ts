import type { RequestListener } from 'node:http'
import type { Request, Response } from 'express'
import { DomainError } from '../domain-error.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import { newExpressApp, send } from './express-reply.js'
import { problemReply } from './problem.js'
import type { Reply } from './reply.js'
import { requestIdOf, withRequestId } from './request-id.js'

const ALIVE: Reply = { status: 200, body: { status: 'ok' } }
const NOT_READY: Reply = { status: 503, body: { status: 'not ready', detail: 'starting' } }

/** Answers until the store is open. That may take long, and `/livez` keeps an orchestrator from restarting the server. */
export function startingApp({ ids, log }: { readonly ids: Ids; readonly log: Log }): RequestListener {
  const answering = (make: (requestId: string) => Reply) => (req: Request, res: Response) => {
    const requestId = requestIdOf(req.headers['x-request-id'], ids)
    send(req, res, withRequestId(make(requestId), requestId))
  }
  const starting = new DomainError('store_unavailable', { detail: 'The server is starting. Nothing was permitted.' })
  const app = newExpressApp()
  app.get(
    '/livez',
    answering(() => ALIVE),
  )
  app.get(
    '/readyz',
    answering(() => NOT_READY),
  )
  app.use(answering((requestId) => problemReply(starting, requestId, log)))
  return app
}
