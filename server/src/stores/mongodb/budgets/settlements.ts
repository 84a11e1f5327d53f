import { setTimeout as pause } from 'node:timers/promises'
import type { AccountKey } from '@countersign/contract'
import { Batches } from '../../../concurrency/batches.js'
import { accountText } from '../../../ports/store/accounts.js'
import { BudgetBusyError } from '../../../ports/store/ledger.js'
import { allDone } from '../connection/all-done.js'
import type { Database } from '../connection/database.js'
import type { DecisionDocument, LedgerLine } from '../stored.js'
import { textId } from './account-id.js'
import { AccountQueue, type AccountTask, type TaskAnswer } from './account-queue.js'
import { openedAt } from './account-steps.js'
import { type AccountWrite, replaceAccounts } from './account-write.js'
import { hasUnsettled, isUnsettled } from './ledger-lines.js'

/** A decision as it was written, which its accounts must follow. */
export type Settling = Pick<DecisionDocument, '_id' | 'rev' | 'attempt' | 'ledger'>

/** The most accounts whose queues are remembered. */
const MAX_QUEUES = 10_000
const TIDY_AFTER_MS = 100
/** The number of decisions whose marks are dropped at once. */
const TIDY_AT = 64

/** The accounts as this process writes them: a queue for each, and the cleanup of marks after a settlement. */
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
   * Moves the accounts to the amounts that just-written decisions owe, and cleans up later. Returns the decisions for
   * which an account was too busy: they are moved later.
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
        // Recovery does whatever is not done by then, or fails.
        if (this.#isFinishing) return
        if (await this.#move(decision)) return this.#tidyLater([decision])
      }
    } catch {}
  }

  #tidyLater(decisions: readonly Settling[]): void {
    this.#untidy.push(...decisions.filter(({ ledger }) => Object.keys(ledger).length > 0))
    if (this.#untidy.length > 0) this.#tidying ??= this.#tidySoon()
  }

  /** Waits for the cleanup in progress, and does what is left of it. */
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
      // Recovery finds the marks that could not be dropped.
      this.#batch = this.#tidy().catch(() => {})
      await this.#batch
    }
    this.#tidying = null
  }

  /** Returns the decisions that are booked as they were settled: only their marks may be dropped. */
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
    // Some have changed since: the amounts that they owe now are booked later.
    const ids = unbooked.map(({ _id }) => _id)
    const present = await this.database.findByIds(this.database.decisions, ids, ['rev'])
    return decisions.filter((one) => !unbooked.includes(one) || present.get(one._id)?.rev === one.rev)
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

/** Marks all owed amounts as booked. */
function booking(ledger: Readonly<Record<string, LedgerLine>>) {
  const lines = Object.entries(ledger).filter(([, line]) => isUnsettled(line))
  return {
    $set: Object.fromEntries(lines.map(([id, { due }]) => [`ledger.${id}.booked`, due])),
    $unset: { unsettled: 1 as const },
  }
}
