/** The house put together: the one place that knows adapters. Reads top to bottom in the order in which things depend. */
import type { RequestListener } from 'node:http'
import { evaluate } from '@countersign/engine'
import { bootstrapKeyPath, writeBootstrapKey } from './adapters/bootstrap-key-file.js'
import { openKeyring } from './adapters/keyring/keyring.js'
import { watchInbox } from './adapters/operator-inbox/watch.js'
import { prometheusMetrics } from './adapters/prometheus-metrics.js'
import { soleLease } from './adapters/sole-lease.js'
import { openSqliteStore } from './adapters/store-sqlite/open.js'
import { typeidIds } from './adapters/typeid-ids.js'
import type { Config } from './config.js'
import { Api } from './http/api.js'
import { Cursors } from './http/cursor.js'
import { expressApp } from './http/express-app.js'
import { Idempotency } from './http/idempotency.js'
import { openPages } from './http/open-pages.js'
import { openApiDocument } from './http/openapi.js'
import { RateLimit } from './http/rate-limit.js'
import type { Route } from './http/route.js'
import { agentRoutes } from './http/routes/agents.js'
import { auditRoutes } from './http/routes/audit.js'
import { budgetRoutes } from './http/routes/budgets.js'
import { decisionMoveRoutes } from './http/routes/decision-moves.js'
import { decisionRoutes } from './http/routes/decisions.js'
import { keyRoutes } from './http/routes/keys.js'
import { permitRoutes } from './http/routes/permits.js'
import { policyRoutes } from './http/routes/policies.js'
import type { Clock } from './ports/clock.js'
import type { Ids } from './ports/ids.js'
import type { Log } from './ports/log.js'
import type { Metrics } from './ports/metrics.js'
import type { Store } from './ports/store.js'
import { RecordWriter } from './record-writer.js'
import { Agents } from './state/agents.js'
import { ApprovalEnds } from './state/approval-ends.js'
import { Changes } from './state/changes.js'
import { Keys } from './state/keys.js'
import { LongPolls } from './state/long-polls.js'
import { OpenReviews } from './state/open-reviews.js'
import { Policies } from './state/policies.js'
import { Turns } from './state/turns.js'
import { isAwaitingReview } from './use-cases/decisions/awaiting.js'
import { expireOverdue } from './use-cases/decisions/expire.js'
import { bootstrapKey } from './use-cases/keys/bootstrap.js'
import { makeOrderedKey } from './use-cases/keys/order.js'
import { permitCheck } from './use-cases/permits/verify.js'
import { recordSigningKeys } from './use-cases/signing-keys/record.js'

/** How long a caller waits for durability before it is told that the store is unavailable. */
const STORE_DEADLINE_MS = 5000
const KEY_USES_EVERY_MS = 60_000
const PURGE_EVERY_MS = 60_000
const EXPIRE_EVERY_MS = 1000
/** Several of its runs: a process that stops makes the others wait no longer than this. */
const EXPIRE_LEASE_MS = 5000

export interface Parts {
  readonly clock: Clock
  readonly log: Log
  /** Where permits say that they come from, unless the settings say it. */
  readonly address: string
  readonly ids?: Ids
  readonly evaluate?: typeof evaluate
  readonly openStore?: (dataDir: string) => Promise<Store>
  /** How often what the clock has ended is written down. */
  readonly expireEveryMs?: number
}

export interface Composed {
  readonly handler: RequestListener
  readonly routes: readonly Route[]
  readonly policyCount: number
  /** The first key of an empty store and its file; null on every later start. */
  readonly bootstrap: { readonly text: string; readonly path: string } | null
  /** Says that no more requests should come. */
  drain(): void
  /** Ends the timers and closes the store, once everything is written. */
  close(): Promise<void>
}

/**
 * Opens the store and the signing keys and builds the application upon them.
 *
 * @throws what the store and the keyring refuse to open with
 */
export async function compose(config: Config, parts: Parts): Promise<Composed> {
  const { clock, log } = parts
  const ids = parts.ids ?? typeidIds(clock)
  const store = await (parts.openStore ?? ((dataDir) => openSqliteStore({ dataDir })))(config.dataDir)
  try {
    return await composeOn(store, config, { ...parts, clock, log, ids })
  } catch (error) {
    await store.close()
    throw error
  }
}

async function composeOn(store: Store, config: Config, parts: Parts & { readonly ids: Ids }): Promise<Composed> {
  const { clock, log, ids } = parts
  const now = clock.now().toISOString()
  const metrics = prometheusMetrics()
  const writer = new RecordWriter(measured(store, metrics), ids, STORE_DEADLINE_MS)
  metrics.watchWaitingRecords(() => writer.waitingRecords)
  const signer = await openKeyring({ dataDir: config.dataDir, clock })
  const recordKeys = () => recordSigningKeys({ signer, store, writer })
  await recordKeys()

  const policies = new Policies(await store.loadPolicies())
  const agents = new Agents(await store.loadAgents())
  const keys = new Keys(await store.loadKeys(), await store.loadKeyUses())
  const openReviews = new OpenReviews(await store.listOpenReviews(now), {
    perAgent: config.maxOpenReviews,
    perKey: config.maxOpenReviewsPerKey,
  })

  const changes = new Changes(
    async () => {
      policies.load(await store.loadPolicies())
      agents.load(await store.loadAgents())
      keys.load(await store.loadKeys())
    },
    (err) => log.warn({ err }, 'a change has an unknown outcome; policies, agents and keys are read anew'),
  )

  const issuer = config.issuer ?? parts.address
  const permits = { issuer, audience: config.permitAudience ?? issuer }
  let isServing = true
  const deps = {
    isServing: () => isServing,
    clock,
    ids,
    log,
    metrics,
    store,
    writer,
    signer,
    policies,
    agents,
    keys,
    openReviews,
    permits,
    evaluate: parts.evaluate ?? evaluate,
    lifetimes: {
      decisionSeconds: config.decisionTtlSeconds,
      reviewSeconds: config.reviewTtlSeconds,
      approvalSeconds: config.approvalTtlSeconds,
    },
    approvalEnds: new ApprovalEnds(await store.firstApprovalEnd()),
    turns: new Turns(),
    longPolls: new LongPolls((id) => isAwaitingReview({ store, clock }, id)),
    changes,
    cursors: new Cursors(await store.secret('cursors')),
    verifyPermit: permitCheck(signer, clock, permits),
  }
  const overdue = { expireOverdue: () => expireOverdue(deps) }
  const bootstrap = await firstKey(deps, config)

  const routes = [
    ...decisionRoutes(deps),
    ...decisionMoveRoutes(deps),
    ...policyRoutes(deps),
    ...budgetRoutes({ ...deps, ...overdue }),
    ...agentRoutes(deps),
    ...keyRoutes(deps),
    ...permitRoutes(deps),
    ...auditRoutes(deps),
  ]
  const api = new Api({
    ...deps,
    rateLimit: new RateLimit(config.rateLimitPerSecond),
    idempotency: new Idempotency(store, clock),
  })
  const handler = expressApp(api, routes, {
    isServing: deps.isServing,
    log,
    metrics,
    openPages: openPages({
      ...deps,
      metricsToken: config.metricsToken,
      openApi: () => openApiDocument(routes),
    }),
  })

  const failed = (what: string) => (err: unknown) => log.error({ err }, what)
  signer.watch(recordKeys, failed('the signing keys could not be read again, or their change could not be recorded'))
  const stops = [
    () => signer.close(),
    watchInbox({
      dataDir: config.dataDir,
      carryOut: (order) => makeOrderedKey(deps, order),
      onError: failed('an order of the operator could not be carried out'),
    }),
    every(
      parts.expireEveryMs ?? EXPIRE_EVERY_MS,
      async () => {
        if (await soleLease.hold('expire', EXPIRE_LEASE_MS)) await overdue.expireOverdue()
      },
      failed('what the clock has ended could not be settled'),
    ),
    every(KEY_USES_EVERY_MS, () => store.saveKeyUses(keys.takeUnsavedUses()), failed('key uses could not be saved')),
    every(
      PURGE_EVERY_MS,
      async () => {
        const now = clock.now().toISOString()
        openReviews.forgetExpired(now)
        while ((await store.purgeIdempotency(now)) > 0);
      },
      failed('idempotency records could not be purged'),
    ),
  ]
  return {
    handler,
    routes,
    policyCount: policies.size,
    bootstrap,
    drain: () => {
      isServing = false
    },
    async close() {
      await Promise.all(stops.map((stop) => stop()))
      await writer.flushed()
      await store.saveKeyUses(keys.takeUnsavedUses()).catch(failed('key uses could not be saved'))
      await store.close()
    },
  }
}

async function firstKey(
  deps: Parameters<typeof bootstrapKey>[0] & { readonly log: Log },
  config: Config,
): Promise<Composed['bootstrap']> {
  if (deps.keys.size > 0 && config.bootstrapKey !== null)
    deps.log.warn({}, 'COUNTERSIGN_BOOTSTRAP_KEY is ignored: the store has keys already')
  const text = await bootstrapKey(deps, config.bootstrapKey, (made) => writeBootstrapKey(config.dataDir, made))
  return text === null ? null : { text, path: bootstrapKeyPath(config.dataDir) }
}

/** The store with each commit measured, whether it succeeds or not. */
function measured(store: Store, metrics: Metrics): Pick<Store, 'openLog' | 'commit'> {
  return {
    openLog: () => store.openLog(),
    async commit(records) {
      const started = performance.now()
      try {
        return await store.commit(records)
      } finally {
        metrics.committed(performance.now() - started)
      }
    },
  }
}

/**
 * Runs a task again and again until it is stopped, one run at a time; a run that fails is told, and the next one tries
 * anew. Stopping waits for the run under way.
 */
function every(intervalMs: number, task: () => Promise<void>, onError: (error: unknown) => void): () => Promise<void> {
  let running: Promise<void> | null = null
  const timer = setInterval(() => {
    running ??= task()
      .catch(onError)
      .finally(() => {
        running = null
      })
  }, intervalMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await running
  }
}
