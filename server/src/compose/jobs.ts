/** The background work of the server as a table of jobs, and the function that runs such a table. */
import { setImmediate as othersTurn } from 'node:timers/promises'
import { poll } from '../concurrency/poll.js'
import { isFeedBehind } from '../feed/is-behind.js'
import type { Log } from '../ports/log.js'
import type { Lease } from '../ports/store/lease.js'
import type { LiveEvents } from '../state/live-events.js'
import { oldRequestEraser } from '../use-cases/audit/erase-requests.js'
import { clockJumpReporter } from '../use-cases/clock/report-jump.js'
import { removeOldDecisions } from '../use-cases/decisions/retention.js'
import type { Core } from './live-state.js'
import { measuringJob } from './measures.js'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
/** How much longer decisions are kept while webhooks or statistics lag. Source: docs/operations.md "Retention". */
const KEPT_FOR_FEED_DAYS = 30

/**
 * The schedule of jobs that go through the store: soon after the start, so that they also run on a server that restarts
 * often. The lease is a little longer than the interval: the same process renews it, and another one takes over soon
 * after it dies.
 */
const HOURLY = { everyMs: HOUR_MS, firstMs: MINUTE_MS, leaseMs: HOUR_MS + 5 * MINUTE_MS }

export interface Job {
  /** Names its lease too. */
  readonly name: string
  readonly everyMs: number
  /** The delay before the first run; `everyMs` when absent. */
  readonly firstMs?: number
  /**
   * How long a process holds the lease of the job: of the processes that share the store, one runs it. Without a lease,
   * each one does.
   */
  readonly leaseMs?: number
  readonly run: () => Promise<void> | void
  /** Runs instead while another process has the lease. */
  readonly runWithoutLease?: () => Promise<void>
  /** The log message when a run fails. The next run tries again. */
  readonly failure: string
}

/** @returns a function that stops the jobs; it resolves when the runs in progress have ended */
export function runJobs(jobs: readonly Job[], lease: Lease, log: Log): () => Promise<void> {
  const polls = jobs.map(({ name, everyMs, firstMs, leaseMs, run, runWithoutLease, failure }) => {
    const task = async () => {
      if (leaseMs === undefined || (await lease.hold(name, leaseMs))) await run()
      else await runWithoutLease?.()
    }
    return poll(task, { everyMs, firstMs, onError: (err) => log.error({ err }, failure) })
  })
  return async () => {
    await Promise.all(polls.map((loop) => loop.stop()))
  }
}

export function serverJobs(core: Core, liveEvents: LiveEvents): Job[] {
  const { config, isServing, clock, log, store, approvalEnds, keys, openReviews, sharedKeys } = core
  const { retentionDays, requestRetentionDays } = config
  const jobs: Job[] = [
    {
      name: 'report_clock_jump',
      everyMs: SECOND_MS,
      run: clockJumpReporter(clock, log),
      failure: 'the clock could not be checked',
    },
    {
      name: 'expire',
      everyMs: core.expireEveryMs ?? SECOND_MS,
      // Several intervals: when the process stops, another one takes over after this time.
      leaseMs: 5 * SECOND_MS,
      async run() {
        const failures = await core.expireOverdue()
        if (failures.length > 0)
          log.error(
            { err: failures[0], decisions: failures.length },
            'overdue decisions cannot be expired: were they edited?',
          )
      },
      // Approvals by other processes expire in this process too.
      runWithoutLease: () => approvalEnds.refresh(() => store.decisions.firstApprovalEnd()),
      failure: 'expired decisions could not be settled',
    },
    {
      name: 'remember_newest_entry',
      everyMs: SECOND_MS,
      run: core.remember,
      failure: 'the newest audit entry could not be saved',
    },
    {
      name: 'save_key_uses',
      everyMs: MINUTE_MS,
      run: () => store.keys.saveUses(keys.takeUnsavedUses()),
      failure: 'key uses could not be saved',
    },
    {
      name: 'purge',
      everyMs: MINUTE_MS,
      async run() {
        const now = clock.now().toISOString()
        await openReviews.forgetExpired(now)
        // Once the server shuts down, the rest waits for the next start.
        while (isServing() && (await store.idempotency.purge(now)) > 0);
      },
      failure: 'expired data could not be removed',
    },
    measuringJob(core),
    {
      name: 'wipe',
      everyMs: MINUTE_MS,
      // Also continues what a crash has interrupted.
      run: core.wipeFiles,
      failure: 'the files could not be wiped',
    },
  ]
  if (store.wasWrittenByOthers !== null)
    jobs.push({
      name: 'look_for_other_writers',
      everyMs: 10 * SECOND_MS,
      async run() {
        if (await store.wasWrittenByOthers?.())
          log.error(
            {},
            'another program has written to the database: countersign audit verify --records names what it has changed. ' +
              'Policies, agents and keys count as they were until they are read again',
          )
      },
      failure: 'it is not known whether another program has written to the database',
    })
  if (sharedKeys !== null)
    jobs.push({
      name: 'publish_signing_keys',
      everyMs: HOUR_MS,
      run: () => sharedKeys.publish(),
      failure: 'the signing keys could not be published',
    })
  if (retentionDays !== null)
    jobs.push({
      name: 'retention',
      ...HOURLY,
      async run() {
        // Decisions that the feed has not processed are kept for a while, but not forever.
        const isBehind = await isFeedBehind(store, clock.now())
        const days = retentionDays + (isBehind ? KEPT_FOR_FEED_DAYS : 0)
        if (isBehind) log.warn({ days }, 'a reader of the feed is behind, so decisions are kept longer')
        const removed = await removeOldDecisions({ clock, store, writer: core.writer, isServing }, days)
        if (removed === 0) return
        log.info({ removed, days }, 'old decisions were removed')
        await core.wipeFiles()
      },
      failure: 'old decisions could not be removed',
    })
  if (requestRetentionDays !== null) {
    const eraseOldRequests = oldRequestEraser({ ...core, liveEvents }, requestRetentionDays, othersTurn)
    jobs.push({
      name: 'request_retention',
      ...HOURLY,
      async run() {
        const erased = await eraseOldRequests()
        if (erased > 0) log.info({ erased, days: requestRetentionDays }, 'requests of old decisions were erased')
      },
      failure: 'requests of old decisions could not be erased',
    })
  }
  return jobs
}
