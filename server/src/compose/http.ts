/** The API over HTTP: the dependencies of each group of routes, the API around them, and Express at the outside. */
import type { RequestListener } from 'node:http'
import { OPERATIONS, type OperationName } from '@countersign/contract/operations'
import { evaluate } from '@countersign/engine'
import { readDashboardFiles } from '../adapters/dashboard-files.js'
import type { Feed } from '../feed/feed.js'
import { Api } from '../http/api.js'
import { bearerKeys } from '../http/callers.js'
import { Cursors } from '../http/cursor.js'
import { DashboardPages } from '../http/dashboard/files.js'
import { sessionCallers, sessionPages } from '../http/dashboard/sessions.js'
import { EventIds } from '../http/event-ids.js'
import { countersignRouter, expressApp } from '../http/express-app.js'
import { Idempotency } from '../http/idempotency.js'
import { apiListener, type Listener } from '../http/listener.js'
import { LongWork } from '../http/long-work.js'
import { openApiDocument } from '../http/openapi.js'
import { publicPages, referenceElsewhere } from '../http/public-pages.js'
import { RateLimit } from '../http/rate-limit.js'
import { readinessCheck } from '../http/readiness.js'
import type { Route } from '../http/route.js'
import { agentRoutes } from '../http/routes/agents.js'
import { auditRoutes } from '../http/routes/audit.js'
import { budgetRoutes } from '../http/routes/budgets.js'
import { decisionTransitionRoutes } from '../http/routes/decision-transitions.js'
import { decisionRoutes } from '../http/routes/decisions.js'
import { type EventRouteDeps, eventRoutes } from '../http/routes/events.js'
import { keyRoutes } from '../http/routes/keys.js'
import { permitRoutes } from '../http/routes/permits.js'
import { policyRoutes } from '../http/routes/policies.js'
import { statsRoutes } from '../http/routes/stats.js'
import { webhookRoutes } from '../http/routes/webhooks.js'
import { UnreadAnswers } from '../http/unread-answers.js'
import { LiveEvents } from '../state/live-events.js'
import { lineOf } from '../use-cases/keys/line.js'
import { permitCheck } from '../use-cases/permits/verify.js'
import type { Core } from './live-state.js'

/** How long a caller waits for an answer when each step of a call may have to wait for a network. */
const ANSWER_DEADLINE_MS = 8000

export interface ComposedHttp {
  readonly routes: readonly Route[]
  readonly liveEvents: LiveEvents
  readonly longWork: LongWork
  /** For a standalone server. */
  readonly listener: RequestListener
  /** The same as an Express application: each request passes through it first. */
  readonly app: RequestListener
  /** For an Express application with other routes. */
  readonly router: Listener
}

/** @param secret of this store, for cursors and ids of events */
export function composeHttp(core: Core, feed: Feed, secret: string): ComposedHttp {
  const {
    config,
    connections,
    isServing,
    clock,
    ids,
    log,
    metrics,
    tracer,
    store,
    keys,
    freshness,
    keyring,
    sharedKeys,
  } = core
  const { unread = new UnreadAnswers() } = core
  const lineOfId = (keyId: string) => [...lineOf(keys, keyId)].map(({ id }) => id).reverse()
  const { longWork = new LongWork({ lineOf: lineOfId }) } = core
  const cursors = new Cursors(secret)
  const eventIds = new EventIds(secret, cursors)
  const liveEvents = new LiveEvents({
    source: feed,
    seal: (positions) => eventIds.seal(positions),
    log,
    async hasEntry(position) {
      await store.ping()
      return store.audit.has(position)
    },
    lineOf: lineOfId,
  })
  const routes = Object.values(composeRoutes(core, feed, cursors, { liveEvents, eventIds }))
  metrics.watchUnreadBytes(() => unread.total)
  metrics.watchLiveStreams(() => liveEvents.size)
  metrics.watchLongCalls({
    inPlace: () => sumOf(longWork.places.holders),
    waiting: () => sumOf(longWork.places.waiters),
  })
  const rateLimit = new RateLimit(config.rateLimitPerSecond)
  const admit = (keyId: string) => rateLimit.admit(keyId)
  const api = new Api({
    clock,
    ids,
    log,
    keys,
    freshness,
    unread,
    longWork,
    rateLimit,
    idempotency: new Idempotency(store.idempotency, clock),
    answerMs: store.replicas === null ? null : ANSWER_DEADLINE_MS,
  })
  const isSignerKnown = () => sharedKeys?.isKnown ?? true
  const notReady = readinessCheck({ isServing, clock, log, store, freshness, isSignerKnown })
  metrics.watchReadiness(async () => (await notReady()) === null)
  const pages = publicPages({
    metrics,
    notReady,
    metricsToken: config.metricsToken,
    jwks: async () => sharedKeys?.jwksForVerifiers() ?? keyring.jwks(),
    openApi: () => openApiDocument(OPERATIONS),
  })
  const edge = { api, connections, isServing, log, metrics, tracer }
  const listener = apiListener({ ...edge, routes, unread }, { prefix: '/v1', callers: bearerKeys(keys) })
  const router = countersignRouter(edge, listener, [...pages, referenceElsewhere])
  const sessions = { clock, keys, writer: core.writer, changes: core.changes, signInCodes: core.signInCodes, admit }
  const app = expressApp(edge, countersignRouter(edge, listener, pages), {
    files: new DashboardPages(readDashboardFiles),
    api: apiListener({ ...edge, routes, unread }, { prefix: '/dashboard/v1', callers: sessionCallers(keys) }),
    sessions: sessionPages(sessions),
  })
  return { routes, liveEvents, longWork, router, app, listener: (req, res) => listener(req, res, () => app(req, res)) }
}

function sumOf(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}

/** Builds one route for each operation. Each group gets only the dependencies that its use cases name. */
function composeRoutes(core: Core, feed: Feed, cursors: Cursors, events: EventRouteDeps): Record<OperationName, Route> {
  const { liveEvents } = events
  const { config, isServing, clock, ids, log, metrics, store, writer, policies, agents, keys, changes } = core
  const { openReviews, approvalEnds, mutex, longPolls, signer, permits, expireOverdue } = core
  const { maxEvaluationSteps } = config
  const evaluation = { policies, agents, log, evaluate: core.evaluate ?? evaluate, maxEvaluationSteps }
  const lifetimes = {
    decisionSeconds: config.decisionTtlSeconds,
    reviewSeconds: config.reviewTtlSeconds,
    approvalSeconds: config.approvalTtlSeconds,
  }
  const transition = { clock, store, writer, openReviews, mutex }
  const decide = { ...transition, ...evaluation, approvalEnds, lifetimes, signer, permits }
  const urlRules = { allowsPrivate: config.webhookAllowPrivate }
  const verifyPermit = permitCheck(signer, clock, permits)
  return {
    ...decisionRoutes({ ...decide, ids, metrics, longPolls, isServing, cursors }),
    ...decisionTransitionRoutes({ ...decide, keys, changes }),
    ...policyRoutes({ ...evaluation, clock, ids, store, writer, changes, mutex, cursors }),
    ...budgetRoutes({ clock, policies, store, expireOverdue, cursors }),
    ...agentRoutes({ clock, ids, agents, store, writer, changes, cursors }),
    ...keyRoutes({ clock, ids, keys, writer, changes, cursors }),
    ...permitRoutes({ ...transition, agents, verifyPermit }),
    ...auditRoutes({ ...transition, isServing, wipeFiles: core.wipeFiles, liveEvents, signer, feed, cursors }),
    ...webhookRoutes({ clock, ids, store, writer, changes, urlRules, cursors, feed }),
    ...statsRoutes({ clock, store, feed }),
    ...eventRoutes(events),
  }
}
