/** What the server does beside the requests, as a table, and the one function that runs such a table. */
import { poll } from '@countersign/concurrency'
import type { Lease } from '@countersign/store-port/lease'
import type { Config } from '../config.js'
import type { Log } from '../ports/log.js'
import { clockJumpReporter } from '../use-cases/clock/report-jump.js'
import { removeOldDecisions } from '../use-cases/decisions/retention.js'
import type { LiveState } from './live-state.js'
import type { Base, Parts } from './parts.js'
import type { SigningKeys } from './signing-keys.js'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

export interface Job {
  /** The name of its lease, too. */
  readonly name: string
  readonly everyMs: number
  /** When it runs for the first time; `everyMs` when absent. */
  readonly firstMs?: number
  /** For how long a process takes the job from the others that share the store; when absent, each process does it. */
  readonly leaseMs?: number
  readonly run: () => Promise<void> | void
  /** What a process does instead while another one has the lease. */
  readonly runWithoutLease?: () => Promise<void>
  /** What is logged when a run fails. The next run tries again. */
  readonly failure: string
}

/** @returns stops the jobs; resolves when the runs in progress have ended */
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

interface JobParts extends Base, LiveState, SigningKeys {
  readonly config: Config
  readonly parts: Parts
  readonly expireOverdue: () => Promise<void>
}

export function serverJobs(all: JobParts): Job[] {
  const { isServing, clock, log, store, approvalEnds, keys, openReviews, sharedKeys, remember, expireOverdue } = all
  const { retentionDays } = all.config
  const jobs: Job[] = [
    {
      // A jump of the system clock is seen soon, though nobody asks for the time.
      name: 'report_clock_jump',
      everyMs: SECOND_MS,
      run: clockJumpReporter(clock, log),
      failure: 'the clock could not be checked',
    },
    {
      name: 'expire',
      everyMs: all.parts.expireEveryMs ?? SECOND_MS,
      // Several runs: a process that stops makes the others wait no longer than this.
      leaseMs: 5 * SECOND_MS,
      run: expireOverdue,
      // What others approved ends here, too.
      runWithoutLease: () => approvalEnds.refresh(() => store.firstApprovalEnd()),
      failure: 'expired decisions could not be settled',
    },
    {
      name: 'remember_newest_entry',
      everyMs: SECOND_MS,
      run: remember,
      failure: 'the newest audit entry could not be saved',
    },
    {
      name: 'save_key_uses',
      everyMs: MINUTE_MS,
      run: () => store.saveKeyUses(keys.takeUnsavedUses()),
      failure: 'key uses could not be saved',
    },
    {
      name: 'purge',
      everyMs: MINUTE_MS,
      async run() {
        const now = clock.now().toISOString()
        await openReviews.forgetExpired(now)
        // What is left when the server stops is left to the next one.
        while (isServing() && (await store.purgeIdempotency(now)) > 0);
      },
      failure: 'expired data could not be removed',
    },
  ]
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
      everyMs: HOUR_MS,
      // Soon, so that servers that are started again and again do it, too.
      firstMs: MINUTE_MS,
      // A little more than the interval, so that one process does it again and again, and another soon after that has died.
      leaseMs: HOUR_MS + 5 * MINUTE_MS,
      async run() {
        const removed = await removeOldDecisions(all, retentionDays)
        if (removed > 0) log.info({ removed, days: retentionDays }, 'old decisions were removed')
      },
      failure: 'old decisions could not be removed',
    })
  return jobs
}
