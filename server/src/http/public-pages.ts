/** The pages that need no API key: health, public signing keys, metrics, and the API's description for programs and people. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { withDeadline } from '../concurrency/with-deadline.js'
import { DomainError } from '../domain-error.js'
import type { StoreClock } from '../ports/clock.js'
import type { Log } from '../ports/log.js'
import type { Metrics } from '../ports/metrics.js'
import type { Signer } from '../ports/signer.js'
import type { Store } from '../ports/store/store.js'
import type { Freshness } from '../state/freshness.js'
import type { BodySource } from './body.js'
import { errorsPage } from './errors-page.js'
import type { Reply } from './reply.js'

export interface PublicPagesDeps {
  readonly log: Log
  readonly clock: Pick<StoreClock, 'jump'>
  /** The public keys that verify permits. @throws StoreUnavailableError */
  readonly jwks: () => Promise<ReturnType<Signer['jwks']>>
  readonly store: Pick<Store, 'ping'>
  readonly metrics: Pick<Metrics, 'exposition'>
  /** The bearer token required to read the metrics; null when they are public. */
  readonly metricsToken: string | null
  /** False once the server shuts down. */
  readonly isServing: () => boolean
  readonly freshness: Pick<Freshness, 'isFresh'>
  /** False while verifiers may not have this server's signing key yet. */
  readonly isSignerKnown: () => boolean
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

const PING_DEADLINE_MS = 1000
const PING_AGE_MS = 1000

export function publicPages(deps: PublicPagesDeps): PublicPage[] {
  // Built on the first request, so that it does not delay the start.
  const openApi = once(() => {
    const text = JSON.stringify(deps.openApi())
    return asBytes({ status: 200, headers: { 'Content-Type': 'application/json' }, text })
  })
  const errors = once(() => asBytes(errorsPage()))
  const storeProblemNow = sharedPing(() => storeProblem(deps))
  return [
    { path: '/livez', answer: () => ({ status: 200, body: { status: 'ok' } }) },
    { path: '/readyz', answer: () => readiness(deps, storeProblemNow) },
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

/** One ping of the store answers all requests within a second, because this endpoint has no key and no rate limit. */
function sharedPing(ping: () => Promise<string | null>): () => Promise<string | null> {
  let last: { readonly at: number; readonly answer: Promise<string | null> } | null = null
  return () => {
    const now = performance.now()
    if (last === null || now - last.at >= PING_AGE_MS) last = { at: now, answer: ping() }
    return last.answer
  }
}

async function readiness(
  { isServing, freshness, isSignerKnown, clock }: PublicPagesDeps,
  storeProblemNow: () => Promise<string | null>,
): Promise<Reply> {
  const ofStore = isServing() ? await storeProblemNow() : 'shutting down'
  const ofMemory = freshness.isFresh ? null : 'policies, API keys and suspensions could not be refreshed'
  const ofSigner = isSignerKnown() ? null : 'some verifiers may not know the signing key of this server yet'
  const problem = ofStore ?? ofMemory ?? ofSigner ?? clockProblem(clock)
  if (problem === null) return { status: 200, body: { status: 'ready' } }
  return { status: 503, body: { status: 'not ready', detail: problem } }
}

function clockProblem(clock: PublicPagesDeps['clock']): string | null {
  const jump = clock.jump()
  if (jump === null) return null
  const seconds = Math.round(jump.aheadMs / 1000)
  const what = `the system clock jumped ahead by ${seconds} s; the server follows it from ${jump.believedAt.toISOString()}`
  return `${what}: set the clock, or run "countersign clock confirm"`
}

async function storeProblem({ store, log }: PublicPagesDeps): Promise<string | null> {
  try {
    await withDeadline(store.ping(), PING_DEADLINE_MS, () => new Error('The store did not answer in time.'))
    return null
  } catch (err) {
    log.warn({ err }, 'not ready: the store does not answer')
    return 'the store does not answer'
  }
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
