import type { RequestListener } from 'node:http'
import { DomainError } from '../domain-error.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import { newExpressApp, send } from './express-reply.js'
import { problemReply } from './problem.js'
import type { Reply } from './reply.js'
import { requestIdOf, withRequestId } from './request-id.js'

const PAGES: Readonly<Record<string, Reply>> = {
  '/livez': { status: 200, body: { status: 'ok' } },
  '/readyz': { status: 503, body: { status: 'not ready', detail: 'starting' } },
}

/** Answers until the store is open. That may take long, and `/livez` keeps an orchestrator from restarting the server. */
export function startingApp({ ids, log }: { readonly ids: Ids; readonly log: Log }): RequestListener {
  const starting = new DomainError('store_unavailable', { detail: 'The server is starting. Nothing was permitted.' })
  return newExpressApp().use((req, res) => {
    const requestId = requestIdOf(req.headers['x-request-id'], ids)
    const page = req.method === 'GET' || req.method === 'HEAD' ? PAGES[req.path] : undefined
    send(req, res, withRequestId(page ?? problemReply(starting, requestId, log), requestId))
  })
}
