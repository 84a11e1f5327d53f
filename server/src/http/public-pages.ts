/** What needs no API key: health, the public signing keys, metrics, and the API's description for programs and people. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { withDeadline } from '@countersign/concurrency'
import type { Store } from '@countersign/store-port/store'
import { DomainError } from '../domain-error.js'
import type { StoreClock } from '../ports/clock.js'
import type { Log } from '../ports/log.js'
import type { Metrics } from '../ports/metrics.js'
import type { Signer } from '../ports/signer.js'
import type { Freshness } from '../state/freshness.js'
import { errorsPage } from './errors-page.js'
import { type ReferenceDocument, referencePage } from './reference-page.js'
import type { Reply } from './reply.js'

export interface PublicPagesDeps {
  readonly log: Log
  readonly clock: Pick<StoreClock, 'jump'>
  /** The key set for a verifier. @throws StoreUnavailableError */
  readonly jwks: () => Promise<ReturnType<Signer['jwks']>>
  readonly store: Pick<Store, 'ping'>
  readonly metrics: Pick<Metrics, 'exposition'>
  /** What a reader of the metrics has to show; null for nothing. */
  readonly metricsToken: string | null
  /** False from the first moment of a shutdown on. */
  readonly isServing: () => boolean
  readonly freshness: Pick<Freshness, 'isFresh'>
  /** False while verifiers may lack the key that signs here. */
  readonly isSignerKnown: () => boolean
  readonly openApi: () => ReferenceDocument
}

/** Read by GET (and HEAD) alone. */
export interface PublicPage {
  readonly path: string
  readonly answer: (headers: IncomingHttpHeaders) => Reply | Promise<Reply>
}

const PING_DEADLINE_MS = 1000
const LOOK_AGE_MS = 1000

export function publicPages(deps: PublicPagesDeps): PublicPage[] {
  // Made when they are first read: a start does not wait for pages that nobody looks at.
  const document = once(deps.openApi)
  const openApi = once(() => {
    return asBytes({ status: 200, headers: { 'Content-Type': 'application/json' }, text: JSON.stringify(document()) })
  })
  const reference = once(() => asBytes(referencePage(document())))
  const errors = once(() => asBytes(errorsPage()))
  const lookAtStore = sharedLook(() => storeProblem(deps))
  return [
    { path: '/livez', answer: () => ({ status: 200, body: { status: 'ok' } }) },
    { path: '/readyz', answer: () => readiness(deps, lookAtStore) },
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
    { path: '/docs', answer: reference },
    { path: '/docs/errors', answer: errors },
  ]
}

/** However many leave such a page unread, it is held once. */
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

/** One look at the store serves all who ask within a second: this door has no key and no limit. */
function sharedLook(look: () => Promise<string | null>): () => Promise<string | null> {
  let last: { readonly at: number; readonly answer: Promise<string | null> } | null = null
  return () => {
    const now = performance.now()
    if (last === null || now - last.at >= LOOK_AGE_MS) last = { at: now, answer: look() }
    return last.answer
  }
}

async function readiness(
  { isServing, freshness, isSignerKnown, clock }: PublicPagesDeps,
  lookAtStore: () => Promise<string | null>,
): Promise<Reply> {
  const ofStore = isServing() ? await lookAtStore() : 'shutting down'
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

/** Takes the same time wherever the two differ. */
function isSame(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(given), digest(expected))
}
