/** What needs no key: health, the public signing keys and the API's own description. */
import type { Express, Response } from 'express'
import type { Log } from '../ports/log.js'
import type { Signer } from '../ports/signer.js'
import type { Store } from '../ports/store.js'

export interface OpenPagesDeps {
  readonly log: Log
  readonly signer: Pick<Signer, 'jwks'>
  readonly store: Pick<Store, 'ping'>
  /** False from the first moment of a shutdown on. */
  readonly isServing: () => boolean
  readonly openApi: object
}

const PING_DEADLINE_MS = 1000

export function openPages(app: Express, deps: OpenPagesDeps): void {
  const openApi = JSON.stringify(deps.openApi)

  app.get('/livez', (_req, res) => sendJson(res, 200, { status: 'ok' }))

  app.get('/readyz', async (_req, res) => {
    const problem = deps.isServing() ? await storeProblem(deps) : 'shutting down'
    if (problem === null) sendJson(res, 200, { status: 'ready' })
    else sendJson(res, 503, { status: 'not ready', detail: problem })
  })

  app.get('/.well-known/jwks.json', (_req, res) => {
    res.setHeader('Cache-Control', 'public, max-age=60')
    sendJson(res, 200, deps.signer.jwks())
  })

  app.get('/openapi.json', (_req, res) => {
    res.setHeader('Content-Type', 'application/json')
    res.end(openApi)
  })
}

async function storeProblem({ store, log }: OpenPagesDeps): Promise<string | null> {
  const deadline = new AbortController()
  try {
    await Promise.race([
      store.ping(),
      new Promise((_, reject) => {
        const timer = setTimeout(() => reject(new Error('The store did not answer in time.')), PING_DEADLINE_MS)
        deadline.signal.addEventListener('abort', () => clearTimeout(timer))
      }),
    ])
    return null
  } catch (err) {
    log.warn({ err }, 'not ready: the store does not answer')
    return 'the store does not answer'
  } finally {
    deadline.abort()
  }
}

function sendJson(res: Response, status: number, body: unknown): void {
  res.statusCode = status
  if (!res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', 'no-store')
  res.setHeader('Content-Type', 'application/json')
  res.end(JSON.stringify(body))
}
