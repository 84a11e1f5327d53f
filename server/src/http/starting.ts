import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import { OPERATIONS } from '@countersign/contract/operations'
import { DomainError } from '../domain-error.js'
import type { Ids } from '../ports/ids.js'
import type { Log } from '../ports/log.js'
import { bearerKeyOf } from './callers.js'
import type { Connections } from './connections.js'
import { sessionCredentialOf } from './dashboard/sessions.js'
import { problemReply } from './problem.js'
import type { Reply } from './reply.js'
import { requestIdOf } from './request-id.js'
import { send } from './send.js'
import type { WaitingReaders } from './waiting-readers.js'

const PAGES: Readonly<Record<string, Reply>> = {
  '/livez': { status: 200, body: { status: 'ok' } },
  '/readyz': { status: 503, body: { status: 'not ready', detail: 'starting' } },
}

const EVENTS = OPERATIONS['events.stream'].path

/** The paths of live events, each with the check of its credentials that needs no stored key. */
const READERS: ReadonlyMap<string, (headers: IncomingHttpHeaders) => string> = new Map([
  [EVENTS, bearerKeyOf],
  [`/dashboard${EVENTS}`, sessionCredentialOf],
])

/**
 * Answers requests until the store is open. Opening may take long, and `/livez` keeps an orchestrator from restarting
 * the server during that time. Readers of live events wait.
 */
export function startingListener(deps: {
  readonly ids: Ids
  readonly log: Log
  readonly connections: Connections
  readonly waitingReaders: WaitingReaders
}): RequestListener {
  const starting = new DomainError('store_unavailable', { detail: 'The server is starting. Nothing was permitted.' })
  return (req, res) => {
    if (deps.connections.exchange(req, res) === null) return
    const requestId = requestIdOf(req.headers['x-request-id'], deps.ids)
    const path = pathOf(req.url)
    const credentialOf = req.method === 'GET' ? READERS.get(path) : undefined
    const refusal = credentialOf === undefined ? starting : faultOf(() => credentialOf(req.headers))
    if (refusal === null) {
      deps.waitingReaders.hold(req, res, requestId)
      return
    }
    const page = req.method === 'GET' || req.method === 'HEAD' ? PAGES[path] : undefined
    const reply = page ?? problemReply(refusal, requestId, deps.log)
    send(req, res, { reply, requestId, keyId: undefined }, { isLast: false })
  }
}

function faultOf(check: () => unknown): unknown {
  try {
    check()
    return null
  } catch (error) {
    return error
  }
}

function pathOf(url = ''): string {
  return url.split('?', 1)[0] as string
}
