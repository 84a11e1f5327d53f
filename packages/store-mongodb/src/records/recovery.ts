import type { AccountKey } from '@countersign/contract'
import { BudgetBusyError } from '@countersign/store-port/ledger'
import { accountKeyOf } from '../budgets/account-id.js'
import { hasUnsettled } from '../budgets/ledger-lines.js'
import { syncAccount } from '../budgets/sync-account.js'
import type { Database } from '../connection/database.js'
import type { AccountDocument, DecisionDocument } from '../stored.js'
import { type Followers, finishGroup } from './finish-group.js'
import { completion, takeLog, writeLog } from './log-document.js'

/** What is so old was left behind: whoever had it in hand has died, or was given up. */
export const LEFT_BEHIND_MS = 30_000
const BATCH = 500
/** A log that changes hands all the time is left to those who take it. */
const MOST_TRIES = 3

export interface RecoveryOptions {
  readonly nowMs: number
  /** What is younger is left alone, to save work: nothing goes wrong with 0. */
  readonly olderThanMs: number
  /** Nothing new is begun once it is aborted. */
  readonly signal: AbortSignal
  /** Told of each part that failed, and that the next run has to do. */
  readonly onError: (error: unknown) => void
}

/** Finishes what processes left half done that died: any process may do it at any time, also several at once. */
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

  /** Takes over the logs of processes that have died or ended in the middle of a group, and leaves them to the next that starts. */
  finishLogs(): Promise<void> {
    return this.#each(
      () => this.database.logs.find(this.#isLeft()).project<{ _id: string }>({ _id: 1 }).toArray(),
      ({ _id }) => this.#finishLog(_id),
    )
  }

  clearMarks(): Promise<void> {
    return this.#each(
      () =>
        this.database.accounts
          .find({ marked_ms: { $ne: null, $lte: this.#before } })
          .limit(BATCH)
          .toArray(),
      (account) => this.#clearMarks(account),
    )
  }

  settleDecisions(): Promise<void> {
    return this.#each(
      () =>
        this.database.decisions
          .find({ unsettled: { $exists: true, $lte: this.#before } })
          .limit(BATCH)
          .toArray(),
      (decision) => this.#settle(decision),
    )
  }

  /** One after the other: what fails keeps nothing else from being done. */
  async #each<T>(find: () => Promise<readonly T[]>, finish: (found: T) => Promise<void>): Promise<void> {
    const { signal, onError } = this.options
    try {
      for (const one of await this.database.call(find)) {
        if (signal.aborted) return
        await finish(one).catch(onError)
      }
    } catch (error) {
      onError(error)
    }
  }

  /** Whoever holds it, or held it last. */
  #isLeft() {
    return { until_ms: { $lt: this.options.nowMs }, 'group.0': { $exists: true } }
  }

  /** Only when all of its group is finished nobody holds it: until then the next run finds it. */
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
