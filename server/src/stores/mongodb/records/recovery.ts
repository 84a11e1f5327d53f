import type { AccountKey } from '@countersign/contract'
import type { FindCursor } from 'mongodb'
import { BudgetBusyError } from '../../../ports/store/ledger.js'
import { accountKeyOf } from '../budgets/account-id.js'
import { hasUnsettled } from '../budgets/ledger-lines.js'
import { syncAccount } from '../budgets/sync-account.js'
import { leftOf, NOTHING_PASSED, type Passed, passedWith } from '../collections/by-time.js'
import type { Database } from '../connection/database.js'
import type { AccountDocument, DecisionDocument } from '../stored.js'
import { type Followers, finishGroup } from './finish-group.js'
import { completion, takeLog, writeLog } from './log-document.js'

/** Work that is older than this is abandoned: its process has died, or gave it up. */
export const LEFT_BEHIND_MS = 30_000
const BATCH = 500
/** A log that keeps changing owners is left to them. */
const MOST_TRIES = 3

export interface RecoveryOptions {
  readonly nowMs: number
  /** Younger work is skipped to save effort; 0 is also safe. */
  readonly olderThanMs: number
  /** Once it is aborted, no new work begins. */
  readonly signal: AbortSignal
  /** Called for each part that failed and is left to the next run. */
  readonly onError: (error: unknown) => void
}

/** Completes the unfinished work of dead processes. Any process may run it at any time, even several at once. */
export async function recover(database: Database, followers: Followers, options: RecoveryOptions): Promise<void> {
  const recovery = new Recovery(database, followers, options)
  await recovery.finishLogs()
  await recovery.clearMarks()
  await recovery.settleDecisions()
}

class Recovery {
  readonly #before: number

  constructor(
    private readonly database: Database,
    private readonly followers: Followers,
    private readonly options: RecoveryOptions,
  ) {
    this.#before = options.nowMs - options.olderThanMs
  }

  /**
   * Takes over the logs of processes that died or ended in the middle of a group, and leaves them to the next process
   * that starts.
   */
  async finishLogs(): Promise<void> {
    await this.#each(
      () => this.database.logs.find(this.#isLeft()).project<{ _id: string }>({ _id: 1 }).toArray(),
      ({ _id }) => this.#finishLog(_id),
    )
  }

  clearMarks(): Promise<void> {
    return this.#walk(
      ({ time, _id }) => this.database.accounts.find({ marked_ms: time, _id }).sort({ marked_ms: 1 }),
      ({ marked_ms }) => marked_ms ?? this.#before,
      (account) => this.#clearMarks(account),
    )
  }

  settleDecisions(): Promise<void> {
    return this.#walk(
      ({ time, _id }) => this.database.decisions.find({ unsettled: time, _id }).sort({ unsettled: 1 }),
      ({ unsettled }) => unsettled ?? this.#before,
      (decision) => this.#settle(decision),
    )
  }

  /** Works batch by batch, each after the one before, so that a permanent failure does not block the rest. */
  async #walk<T extends { readonly _id: string }>(
    find: (left: ReturnType<typeof leftOf>) => FindCursor<T>,
    timeOf: (one: T) => number,
    finish: (found: T) => Promise<void>,
  ): Promise<void> {
    for (let passed: Passed = NOTHING_PASSED; ; ) {
      const left = leftOf(passed, this.#before)
      const batch = await this.#each(() => find(left).limit(BATCH).toArray(), finish)
      if (batch.length < BATCH || this.options.signal.aborted) return
      passed = passedWith(passed, batch, timeOf)
    }
  }

  /** Runs one after another; a failure does not prevent the rest. Returns what was found. */
  async #each<T>(find: () => Promise<readonly T[]>, finish: (found: T) => Promise<void>): Promise<readonly T[]> {
    const { signal, onError } = this.options
    try {
      const found = await this.database.call(find)
      for (const one of found) {
        if (signal.aborted) break
        await (async () => finish(one))().catch(onError)
      }
      return found
    } catch (error) {
      onError(error)
      return []
    }
  }

  /** The process that holds it, or held it last. */
  #isLeft() {
    return { until_ms: { $lt: this.options.nowMs }, 'group.0': { $exists: true } }
  }

  /** The log becomes free only when its whole group is completed: until then the next run finds it. */
  async #finishLog(_id: string): Promise<void> {
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const left = await this.database.call(() => this.database.logs.findOne({ _id, ...this.#isLeft() }))
      if (left === null) return
      const taken = await takeLog(this.database, left)
      if (taken === null) continue
      const next = await finishGroup(this.database, this.followers, taken)
      await writeLog(this.database, taken, { ...completion(taken, next), holder: null })
      return
    }
  }

  #clearMarks(account: AccountDocument): Promise<void> {
    const old = Object.values(account.marks).filter(({ at_ms }) => at_ms <= this.#before)
    return this.#sync(account, [...new Set(old.map(({ decision }) => decision))])
  }

  async #settle({ _id, ledger }: DecisionDocument): Promise<void> {
    for (const { key } of Object.values(ledger)) await this.#sync(accountKeyOf(key), [_id])
    const decision = await this.database.call(() => this.database.decisions.findOne({ _id }))
    if (decision === null || hasUnsettled(decision.ledger)) return
    const { rev } = decision
    await this.database.call(() => this.database.decisions.updateOne({ _id, rev }, { $unset: { unsettled: 1 } }))
  }

  async #sync(account: AccountKey, decisions: readonly string[]): Promise<void> {
    const { signal } = this.options
    try {
      await syncAccount(this.database, this.followers.settlements, account, decisions, signal)
    } catch (error) {
      // The next run tries again.
      if (!(error instanceof BudgetBusyError)) throw error
    }
  }
}
