/** The pages that need no API key: health, public signing keys, metrics, and the API's description for programs and people. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { DomainError } from '../domain-error.js'
import type { Metrics } from '../ports/metrics.js'
import type { Signer } from '../ports/signer.js'
import type { BodySource } from './body.js'
import { errorsPage } from './errors-page.js'
import type { Reply } from './reply.js'

export interface PublicPagesDeps {
  /** The public keys that verify permits. @throws StoreUnavailableError */
  readonly jwks: () => Promise<ReturnType<Signer['jwks']>>
  readonly metrics: Pick<Metrics, 'exposition'>
  /** The bearer token required to read the metrics; null when they are public. */
  readonly metricsToken: string | null
  /** Says why the server is not ready; null when it is. */
  readonly notReady: () => Promise<string | null>
  readonly openApi: () => unknown
}

/** A page that needs no key. A GET page also answers HEAD. */
export interface PublicPage {
  readonly path: string
  /** GET when absent. */
  readonly method?: 'POST' | 'DELETE'
  readonly answer: (headers: IncomingHttpHeaders, body: BodySource) => Reply | Promise<Reply>
}

/**
 * The reference is a page of the dashboard. An application without the dashboard links to the OpenAPI document instead.
 */
export const referenceElsewhere: PublicPage = {
  path: '/docs',
  answer: () => ({ status: 307, headers: { Location: 'openapi.json' }, text: '' }),
}

export function publicPages(deps: PublicPagesDeps): PublicPage[] {
  // Built on the first request, so that it does not delay the start.
  const openApi = once(() => {
    const text = JSON.stringify(deps.openApi())
    return asBytes({ status: 200, headers: { 'Content-Type': 'application/json' }, text })
  })
  const errors = once(() => asBytes(errorsPage()))
  return [
    { path: '/livez', answer: () => ({ status: 200, body: { status: 'ok' } }) },
    { path: '/readyz', answer: () => readiness(deps.notReady) },
    {
      path: '/.well-known/jwks.json',
      answer: async () => ({
        status: 200,
        headers: { 'Cache-Control': 'public, max-age=60' },
        body: await deps.jwks(),
      }),
    },
    { path: '/metrics', answer: (headers) => metrics(deps, headers) },
    { path: '/openapi.json', answer: openApi },
    { path: '/docs/errors', answer: errors },
  ]
}

/** Keeps a single copy in memory, even if many callers leave the page unread. */
function asBytes(page: Reply): Reply {
  return page.text === undefined ? page : { ...page, text: Buffer.from(page.text) }
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

async function readiness(problemNow: () => Promise<string | null>): Promise<Reply> {
  const problem = await problemNow()
  if (problem === null) return { status: 200, body: { status: 'ready' } }
  return { status: 503, body: { status: 'not ready', detail: problem } }
}

/** @throws DomainError unauthorized */
async function metrics({ metricsToken, metrics }: PublicPagesDeps, headers: IncomingHttpHeaders): Promise<Reply> {
  if (metricsToken !== null && !isSame(headers.authorization ?? '', `Bearer ${metricsToken}`))
    throw new DomainError('unauthorized', { detail: 'Send the metrics token of the server.' })
  const { mediaType, text } = await metrics.exposition()
  return { status: 200, headers: { 'Content-Type': mediaType }, text }
}

/** Compares in constant time. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
