import type { RequestListener } from 'node:http'
import { DomainError } from '../domain-error.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import type { Connections } from './connections.js'
import { problemReply } from './problem.js'
import type { Reply } from './reply.js'
import { requestIdOf } from './request-id.js'
import { send } from './send.js'

const PAGES: Readonly<Record<string, Reply>> = {
  '/livez': { status: 200, body: { status: 'ok' } },
  '/readyz': { status: 503, body: { status: 'not ready', detail: 'starting' } },
}

/** Answers until the store is open. That may take long, and `/livez` keeps an orchestrator from restarting the server. */
export function startingListener(deps: {
  readonly ids: Ids
  readonly log: Log
  readonly connections: Connections
}): RequestListener {
  const starting = new DomainError('store_unavailable', { detail: 'The server is starting. Nothing was permitted.' })
  return (req, res) => {
    if (deps.connections.exchange(req, res) === null) return
    const requestId = requestIdOf(req.headers['x-request-id'], deps.ids)
    const page = req.method === 'GET' || req.method === 'HEAD' ? PAGES[pathOf(req.url)] : undefined
    const reply = page ?? problemReply(starting, requestId, deps.log)
    send(req, res, { reply, requestId, keyId: undefined }, { isLast: false })
  }
}

function pathOf(url = ''): string {
  return url.split('?', 1)[0] as string
}
