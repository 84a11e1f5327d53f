/** The house put together: the one place that knows adapters. Reads top to bottom in the order in which things depend. */
import { mkdir } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { poll } from '@countersign/concurrency'
import { evaluate } from '@countersign/engine'
import type { Lease } from '@countersign/store-port/lease'
import type { Store } from '@countersign/store-port/store'
import { openSqliteStore } from '@countersign/store-sqlite/open'
import { watchSpool } from './adapters/admin-command-spool/watch.js'
import { bootstrapKeyPath, withdrawBootstrapKey, writeBootstrapKey } from './adapters/bootstrap-key-file.js'
import { findKeyring, openKeyring } from './adapters/keyring/keyring.js'
import { prometheusMetrics } from './adapters/prometheus-metrics.js'
import { soleLease } from './adapters/sole-lease.js'
import { systemClock } from './adapters/system-clock.js'
import { typeidIds } from './adapters/typeid-ids.js'
import type { Config } from './config.js'
import { Api } from './http/api.js'
import { ConnectionBound } from './http/connection-bound.js'
import { Cursors } from './http/cursor.js'
import { expressApp } from './http/express-app.js'
import { Idempotency } from './http/idempotency.js'
import { LongWork } from './http/long-work.js'
import { openPages } from './http/open-pages.js'
import { openApiDocument } from './http/openapi.js'
import { RateLimit } from './http/rate-limit.js'
import { Refusals } from './http/refusals.js'
import type { Route } from './http/route.js'
import { agentRoutes } from './http/routes/agents.js'
import { auditRoutes } from './http/routes/audit.js'
import { budgetRoutes } from './http/routes/budgets.js'
import { decisionTransitionRoutes } from './http/routes/decision-transitions.js'
import { decisionRoutes } from './http/routes/decisions.js'
import { keyRoutes } from './http/routes/keys.js'
import { permitRoutes } from './http/routes/permits.js'
import { policyRoutes } from './http/routes/policies.js'
import { StalledConnections } from './http/stalled-connections.js'
import { startingApp } from './http/starting-app.js'
import { UnreadAnswers } from './http/unread-answers.js'
import { MutationWriter } from './mutation-writer.js'
import type { StoreClock } from './ports/clock.js'
import type { Ids } from './ports/ids.js'
import type { Log } from './ports/log.js'
import type { Metrics } from './ports/metrics.js'
import { Agents } from './state/agents.js'
import { ApprovalEnds } from './state/approval-ends.js'
import { Changes } from './state/changes.js'
import { FollowedStore } from './state/followed-store.js'
import { alwaysFresh, ConfirmedFreshness } from './state/freshness.js'
import { Keys } from './state/keys.js'
import { LongPolls } from './state/long-polls.js'
import { OwnOpenReviews } from './state/open-reviews.js'
import { Policies } from './state/policies.js'
import { SharedOpenReviews } from './state/shared-open-reviews.js'
import { SharedSigningKeys } from './state/shared-signing-keys.js'
import { StoreMutex } from './state/store-mutex.js'
import { confirmClock } from './use-cases/clock/confirm.js'
import { clockJumpReporter } from './use-cases/clock/report-jump.js'
import { startClock } from './use-cases/clock/start.js'
import { isAwaitingReview } from './use-cases/decisions/awaiting.js'
import { removeOldDecisions } from './use-cases/decisions/retention.js'
import { expireOverdue } from './use-cases/decisions/transitions/expire.js'
import { bootstrapKey } from './use-cases/keys/bootstrap.js'
import { createKeyByCommand } from './use-cases/keys/create-by-command.js'
import { permitCheck } from './use-cases/permits/verify.js'
import { findLostEntry, recordLoss } from './use-cases/signing-keys/lost-entries.js'
import { recordSigningKeys } from './use-cases/signing-keys/record.js'

/** How long a caller waits for durability before it is told that the store is unavailable. */
const STORE_DEADLINE_MS = 5000
/** How long it waits for an answer of ours at all, when each step of a call may have to wait for a network. */
const ANSWER_DEADLINE_MS = 8000
const KEY_USES_EVERY_MS = 60_000
/** Beside the requests: what was decided since is not missed when the store is lost. */
const REMEMBER_EVERY_MS = 1000
/** A jump of the system clock is seen by then, though nobody asks. */
const CLOCK_EVERY_MS = 1000
const PURGE_EVERY_MS = 60_000
const RETENTION_EVERY_MS = 3_600_000
/** Soon, so that servers that are started again and again do it, too. */
const RETENTION_FIRST_MS = 60_000
/** A little more than its interval, so that one process does it again and again, and another soon after that has died. */
const RETENTION_LEASE_MS = RETENTION_EVERY_MS + 300_000
const EXPIRE_EVERY_MS = 1000
/** What others changed counts here so soon. */
const LOOK_EVERY_MS = 500
const PUBLISH_EVERY_MS = 3_600_000
/** Several of its runs: a process that stops makes the others wait no longer than this. */
const EXPIRE_LEASE_MS = 5000

export interface Parts {
  readonly clock: StoreClock
  readonly log: Log
  /** Where permits say that they come from, unless the settings say it. */
  readonly address: string
  readonly ids?: Ids
  readonly evaluate?: typeof evaluate
  /** Whether a store may lack what the signing keys have signed. */
  readonly acceptsLoss?: boolean
  readonly openStore?: (dataDir: string) => Promise<Store>
  /** How often what the clock has ended is written down. */
  readonly expireEveryMs?: number
  /** How long a connection may take nothing of its answer. */
  readonly stalledAfterMs?: number
  /** What is held for callers that do not read. */
  readonly unread?: UnreadAnswers
  readonly longWork?: LongWork
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

/** What answers until all of it is put together. */
export function composeStarting({ clock, log, ids = typeidIds(clock) }: Omit<Parts, 'address'>): RequestListener {
  return startingApp({ ids, log })
}

/** What answers those who send no request. */
export function composeRefusals({ clock, log, ids = typeidIds(clock) }: Omit<Parts, 'address'>): Refusals {
  return new Refusals({ clock, ids, log })
}

/** What bounds how many connections are open. */
export function composeConnectionBound({ maxConnections }: Config, { log }: Omit<Parts, 'address'>): ConnectionBound {
  return new ConnectionBound(log, maxConnections)
}

/** What ends the connections of those who do not read. */
export function composeStalled({ log, stalledAfterMs }: Omit<Parts, 'address'>): StalledConnections {
  return new StalledConnections(log, stalledAfterMs)
}

/**
 * Opens the store and the signing keys and builds the application upon them.
 *
 * @throws what the store and the keyring refuse to open with
 */
export async function compose(config: Config, parts: Parts): Promise<Composed> {
  const { clock, log, ids = typeidIds(clock) } = parts
  // Before a store is made: keys that have signed belong to one.
  const kept = await findKeyring({ dataDir: config.dataDir, clock })
  const mayBeNew = parts.acceptsLoss === true || (kept?.newestEntry ?? null) === null
  const { store, lease } = await openStore(config, parts, mayBeNew)
  try {
    return await composeOn(store, lease, config, { ...parts, clock, log, ids })
  } catch (error) {
    await store.close()
    throw error
  }
}

/** The store that the settings name, and the lease of those who share it. */
async function openStore(
  { dataDir, mongodbUrl }: Config,
  { openStore: open, log }: Parts,
  mayBeNew: boolean,
): Promise<{ readonly store: Store; readonly lease: Lease }> {
  if (open !== undefined) return { store: await open(dataDir), lease: soleLease }
  const onError = (err: unknown) =>
    log.error({ err }, 'the store could not finish what it does by itself; it is tried again')
  if (mongodbUrl === null) return { store: await openSqliteStore({ dataDir, mayBeNew, onError }), lease: soleLease }
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  // The driver takes longer to load than all else, and the embedded store does without.
  const { openMongoStore } = await import('@countersign/store-mongodb/open')
  // Leases go by the machine's own time, whatever clock decides.
  const machine = systemClock()
  const store = await openMongoStore({ url: mongodbUrl, nowMs: () => machine.now().getTime(), onError })
  return { store, lease: store.lease }
}

async function composeOn(
  store: Store,
  lease: Lease,
  config: Config,
  parts: Parts & { readonly ids: Ids },
): Promise<Composed> {
  const { clock, log, ids } = parts
  const failed = (what: string) => (err: unknown) => log.error({ err }, what)
  const behind = await startClock(clock, store)
  if (behind !== null)
    log.warn(behind, 'the system clock is behind the newest audit entry, from which time goes on: set the clock (NTP)')
  const metrics = prometheusMetrics()
  const writer = new MutationWriter(measured(store, metrics), ids, STORE_DEADLINE_MS)
  metrics.watchWaitingMutations(() => writer.waitingMutations)
  const reportClockJump = clockJumpReporter(clock, log)
  const keyring = await openKeyring({ dataDir: config.dataDir, clock })
  const lost = await findLostEntry({ memory: keyring, store, log }, parts.acceptsLoss === true)
  const sharedKeys = store.replicas && new SharedSigningKeys(keyring, store.replicas, clock)
  const signer = sharedKeys ?? keyring

  const issuer = config.issuer ?? parts.address
  const permits = { issuer, audience: config.permitAudience ?? issuer }
  const others = (await sharedKeys?.join(issuer)) ?? []
  for (const other of others)
    if (other !== issuer)
      log.warn({ issuer, other_issuer: other }, 'another replica has another issuer: set ISSUER to the same on all')
  await recordSigningKeys({ signer: keyring, store, writer })
  if (lost !== null) await recordLoss(writer, clock.now().toISOString(), lost)

  const policies = new Policies(await store.loadPolicies())
  const agents = new Agents(await store.loadAgents())
  const keys = new Keys(await store.loadKeys(), await store.loadKeyUses())
  const limits = { perAgent: config.maxOpenReviews, perKey: config.maxOpenReviewsPerKey }
  const openReviews =
    store.replicas === null
      ? new OwnOpenReviews(await store.listOpenReviews(clock.now().toISOString()), limits)
      : new SharedOpenReviews(store.replicas.reviewSlots, limits, failed('a review slot could not be released'))

  const reload = {
    policies: async () => policies.load(await store.loadPolicies()),
    agents: async () => agents.load(await store.loadAgents()),
    keys: async () => keys.load(await store.loadKeys()),
    signing_keys: async () => sharedKeys?.load(),
  }
  const confirmed = store.replicas && new ConfirmedFreshness()
  const followed = store.replicas && confirmed && new FollowedStore(store.replicas, reload, confirmed)
  const changes = new Changes({
    reload: async () => {
      await Promise.all([reload.policies(), reload.agents(), reload.keys()])
    },
    ...(followed && { catchUp: () => followed.catchUp() }),
    assertLives: (keyId) => keys.assertLive(keyId, clock.now().toISOString()),
    onReload: (err) => log.warn({ err }, 'a change met another one or has an unknown outcome; memory is read anew'),
  })
  await followed?.catchUp()

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
    maxEvaluationSteps: config.maxEvaluationSteps,
    lifetimes: {
      decisionSeconds: config.decisionTtlSeconds,
      reviewSeconds: config.reviewTtlSeconds,
      approvalSeconds: config.approvalTtlSeconds,
    },
    approvalEnds: new ApprovalEnds(await store.firstApprovalEnd()),
    mutex: new StoreMutex(),
    longPolls: new LongPolls((id) => isAwaitingReview({ store, clock }, id)),
    changes,
    freshness: confirmed ?? alwaysFresh,
    cursors: new Cursors(await store.secret('cursors')),
    verifyPermit: permitCheck(signer, clock, permits),
  }
  const overdue = { expireOverdue: () => expireOverdue(deps) }
  const bootstrap = await firstKey(deps, config)
  let isRemembered = true
  const remember = async () => {
    if (writer.newestEntry === null) return
    try {
      await keyring.remember(writer.newestEntry)
      isRemembered = true
    } catch (err) {
      // A file that can only be read, for one: what the store holds is whole all the same.
      if (isRemembered) log.error({ err }, 'the newest audit entry could not be kept beside the signing keys')
      isRemembered = false
    }
  }
  await remember()

  const routes = [
    ...decisionRoutes(deps),
    ...decisionTransitionRoutes(deps),
    ...policyRoutes(deps),
    ...budgetRoutes({ ...deps, ...overdue }),
    ...agentRoutes(deps),
    ...keyRoutes(deps),
    ...permitRoutes(deps),
    ...auditRoutes(deps),
  ]
  const unread = parts.unread ?? new UnreadAnswers()
  metrics.watchUnreadBytes(() => unread.total)
  const api = new Api({
    ...deps,
    unread,
    longWork: parts.longWork ?? new LongWork(),
    rateLimit: new RateLimit(config.rateLimitPerSecond),
    idempotency: new Idempotency(store, clock),
    answerMs: store.replicas === null ? null : ANSWER_DEADLINE_MS,
  })
  const handler = expressApp(api, routes, {
    isServing: deps.isServing,
    log,
    metrics,
    unread,
    openPages: openPages({
      ...deps,
      metricsToken: config.metricsToken,
      jwks: async () => sharedKeys?.jwksForVerifiers() ?? keyring.jwks(),
      isSignerKnown: () => sharedKeys?.isKnown ?? true,
      openApi: () => openApiDocument(routes),
    }),
  })

  const recordKeys = async () => {
    await sharedKeys?.publish()
    await recordSigningKeys({ signer: keyring, store, writer })
  }
  keyring.watch(recordKeys, failed('the signing keys could not be read again, or their change could not be recorded'))
  const every = (everyMs: number, task: () => Promise<void>, onError: (error: unknown) => void, firstMs?: number) =>
    poll(task, { everyMs, onError, firstMs }).stop
  const stops = [
    () => keyring.close(),
    every(CLOCK_EVERY_MS, async () => reportClockJump(), failed('the clock could not be checked')),
    watchSpool({
      dataDir: config.dataDir,
      execute: async (command) => ('clock' in command ? confirmClock(clock) : createKeyByCommand(deps, command)),
      onError: failed('an admin command could not be executed'),
    }),
    every(
      parts.expireEveryMs ?? EXPIRE_EVERY_MS,
      async () => {
        if (await lease.hold('expire', EXPIRE_LEASE_MS)) await overdue.expireOverdue()
        // What others approved ends here, too.
        else await deps.approvalEnds.refresh(() => store.firstApprovalEnd())
      },
      failed('what the clock has ended could not be settled'),
    ),
    ...(followed === null
      ? []
      : [
          followed.follow(changes, LOOK_EVERY_MS, failed('what other servers changed could not be read')),
          every(PUBLISH_EVERY_MS, async () => sharedKeys?.publish(), failed('the signing keys could not be published')),
        ]),
    every(REMEMBER_EVERY_MS, remember, failed('the newest audit entry could not be kept')),
    every(KEY_USES_EVERY_MS, () => store.saveKeyUses(keys.takeUnsavedUses()), failed('key uses could not be saved')),
    every(
      PURGE_EVERY_MS,
      async () => {
        const now = clock.now().toISOString()
        await openReviews.forgetExpired(now)
        // What is left when the server stops is left to the next one.
        while (isServing && (await store.purgeIdempotency(now)) > 0);
      },
      failed('what is over could not be removed'),
    ),
    every(
      RETENTION_EVERY_MS,
      async () => {
        const { retentionDays: days } = config
        if (days === null || !(await lease.hold('retention', RETENTION_LEASE_MS))) return
        const removed = await removeOldDecisions(deps, days)
        if (removed > 0) log.info({ removed, days }, 'old decisions were removed')
      },
      failed('old decisions could not be removed'),
      RETENTION_FIRST_MS,
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
      await remember()
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
  const text = await bootstrapKey(deps, config.bootstrapKey, {
    leave: (made) => writeBootstrapKey(config.dataDir, made),
    withdraw: (made) => withdrawBootstrapKey(config.dataDir, made),
  })
  return text === null ? null : { text, path: bootstrapKeyPath(config.dataDir) }
}

/** The store with each commit measured, whether it succeeds or not. */
function measured(store: Store, metrics: Metrics): Pick<Store, 'openLog' | 'commit'> {
  return {
    openLog: () => store.openLog(),
    async commit(mutations) {
      const started = performance.now()
      try {
        return await store.commit(mutations)
      } finally {
        metrics.committed(performance.now() - started)
      }
    },
  }
}
