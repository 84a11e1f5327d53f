import { setTimeout as pause } from 'node:timers/promises'
import type { AccountKey } from '@countersign/contract'
import { BudgetBusyError } from '@countersign/store-port/ledger'
import { allDone } from '../connection/all-done.js'
import { Batches } from '../connection/batches.js'
import type { Database } from '../connection/database.js'
import type { DecisionDocument, LedgerLine } from '../stored.js'
import { accountText, textId } from './account-id.js'
import { AccountQueue, type AccountTask, type TaskAnswer } from './account-queue.js'
import { openedAt } from './account-steps.js'
import { type AccountWrite, replaceAccounts } from './account-write.js'
import { hasUnsettled, isUnsettled } from './ledger-lines.js'

/** A decision as it was written, for its accounts to follow. */
export type Settling = Pick<DecisionDocument, '_id' | 'rev' | 'attempt' | 'ledger'>

/** Accounts that this process has not used for long are not remembered. */
const MAX_QUEUES = 10_000
const TIDY_AFTER_MS = 100
/** So many decisions whose marks are to go are tidied at once. */
const TIDY_AT = 64

/** The accounts as this process writes them: a queue for each, and the tidying up behind what has settled. */
export class Settlements {
  readonly #queues = new Map<string, AccountQueue>()
  readonly #writes = new Batches<AccountWrite, boolean>((writes) => replaceAccounts(this.database, writes))
  #untidy: Settling[] = []
  #tidying: Promise<void> | null = null
  #batch: Promise<void> = Promise.resolve()
  #opened = 0
  #isFinishing = false

  constructor(
    private readonly database: Database,
    private readonly nowMs: () => number,
  ) {}

  /** @throws BudgetBusyError, StoreUnavailableError */
  ask(account: AccountKey | string, task: AccountTask): Promise<TaskAnswer> {
    return this.#queueOf(typeof account === 'string' ? account : accountText(account)).ask(task)
  }

  /**
   * Moves the accounts to what decisions are due that were just written, and tidies up later. Answers those that an account
   * was too busy for: they are moved behind it.
   *
   * @throws StoreUnavailableError: recovery does it then
   */
  async settle(decisions: readonly Settling[]): Promise<ReadonlySet<Settling>> {
    const moved: Settling[] = []
    const busy = new Set<Settling>()
    const moves = decisions.map(async (decision) => {
      if (await this.#move(decision)) moved.push(decision)
      else busy.add(decision)
    })
    try {
      await allDone(moves)
    } finally {
      this.#tidyLater(moved)
      for (const decision of busy) void this.#moveInTheEnd(decision)
    }
    return busy
  }

  /** False when an account is too busy. */
  async #move({ _id, ledger }: Settling): Promise<boolean> {
    const lines = Object.values(ledger).filter(isUnsettled)
    try {
      await allDone(lines.map(({ key }) => this.ask(key, { kind: 'settle', decision: _id })))
      return true
    } catch (error) {
      if (error instanceof BudgetBusyError) return false
      throw error
    }
  }

  async #moveInTheEnd(decision: Settling): Promise<void> {
    try {
      for (;;) {
        // Whatever is not done by then, or fails, recovery does.
        if (this.#isFinishing) return
        if (await this.#move(decision)) return this.#tidyLater([decision])
      }
    } catch {}
  }

  #tidyLater(decisions: readonly Settling[]): void {
    this.#untidy.push(...decisions.filter(({ ledger }) => Object.keys(ledger).length > 0))
    if (this.#untidy.length > 0) this.#tidying ??= this.#tidySoon()
  }

  /** Waits for the tidying up in progress, and does what is left of it. */
  async finish(): Promise<void> {
    this.#isFinishing = true
    await this.#batch
    await this.#tidy()
  }

  async #tidy(): Promise<void> {
    const booked = await this.#book(this.#untidy.splice(0))
    await allDone(booked.map((decision) => this.#forget(decision)))
  }

  async #forget(decision: Settling): Promise<void> {
    const { _id, attempt, ledger } = decision
    try {
      await allDone(
        Object.values(ledger).map(({ key, due }) =>
          this.ask(key, { kind: 'forget', decision: _id, attempt, n: due.n }),
        ),
      )
    } catch (error) {
      if (!(error instanceof BudgetBusyError)) throw error
      this.#untidy.push(decision)
    }
  }

  async #tidySoon(): Promise<void> {
    while (this.#untidy.length > 0 && !this.#isFinishing) {
      if (this.#untidy.length < TIDY_AT) await pause(TIDY_AFTER_MS, undefined, { ref: false })
      // What could not be tidied is found by recovery.
      this.#batch = this.#tidy().catch(() => {})
      await this.#batch
    }
    this.#tidying = null
  }

  /** Answers those that are booked as they were settled: only of them marks may go. */
  async #book(decisions: readonly Settling[]): Promise<readonly Settling[]> {
    const unbooked = decisions.filter(({ ledger }) => hasUnsettled(ledger))
    if (unbooked.length === 0) return decisions
    const updates = unbooked.map(({ _id, rev, ledger }) => ({
      updateOne: { filter: { _id, rev }, update: booking(ledger) },
    }))
    const { matchedCount } = await this.database.call(() =>
      this.database.decisions.bulkWrite(updates, { ordered: false }),
    )
    if (matchedCount === updates.length) return decisions
    // Some have moved since: what they are due now is booked behind that.
    const present = await this.#revsOf(unbooked)
    return decisions.filter((decision) => !unbooked.includes(decision) || present.get(decision._id) === decision.rev)
  }

  async #revsOf(decisions: readonly Settling[]): Promise<ReadonlyMap<string, number>> {
    const ids = decisions.map(({ _id }) => _id)
    const found = await this.database.call(() =>
      this.database.decisions
        .find({ _id: { $in: ids } })
        .project<{ _id: string; rev: number }>({ rev: 1 })
        .toArray(),
    )
    return new Map(found.map(({ _id, rev }) => [_id, rev]))
  }

  #queueOf(text: string): AccountQueue {
    const id = textId(text)
    return this.#queues.get(id) ?? this.#newQueue(id, text)
  }

  #newQueue(id: string, text: string): AccountQueue {
    if (this.#queues.size >= MAX_QUEUES)
      for (const [other, queue] of this.#queues) if (queue.isIdle) this.#queues.delete(other)
    const order = openedAt(this.nowMs(), this.#opened++, id)
    const replace = (write: AccountWrite) => this.#writes.ask(write)
    const queue = new AccountQueue(this.database, replace, id, text, order, this.nowMs)
    this.#queues.set(id, queue)
    return queue
  }
}

/** What marks all that is due as booked. */
function booking(ledger: Readonly<Record<string, LedgerLine>>) {
  const lines = Object.entries(ledger).filter(([, line]) => isUnsettled(line))
  return {
    $set: Object.fromEntries(lines.map(([id, { due }]) => [`ledger.${id}.booked`, due])),
    $unset: { unsettled: 1 as const },
  }
}
