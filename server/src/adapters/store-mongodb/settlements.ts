import { setTimeout as pause } from 'node:timers/promises'
import type { AccountKey } from '@countersign/contract'
import { accountText, textId } from './account-id.js'
import { AccountQueue, type AccountTask, type TaskAnswer } from './account-queue.js'
import { openedAt } from './account-steps.js'
import type { Database } from './database.js'
import type { DecisionHome, LedgerLine } from './stored.js'

/** A decision as it was written, for its accounts to follow. */
export type Settling = Pick<DecisionHome, '_id' | 'rev' | 'attempt' | 'ledger'>

/** Accounts that this process has not used for long are not remembered. */
const MAX_QUEUES = 10_000
const TIDY_AFTER_MS = 100
/** So many decisions whose marks are to go are tidied at once. */
const TIDY_AT = 64

/** The accounts as this process writes them: a queue for each, and the tidying up behind what has settled. */
export class Settlements {
  readonly #database: Database
  readonly #nowMs: () => number
  readonly #queues = new Map<string, AccountQueue>()
  #untidy: Settling[] = []
  #tidying: Promise<void> | null = null
  #batch: Promise<void> = Promise.resolve()
  #opened = 0

  constructor(database: Database, nowMs: () => number) {
    this.#database = database
    this.#nowMs = nowMs
  }

  /** @throws BudgetBusyError, StoreUnavailableError */
  ask(account: AccountKey | string, task: AccountTask): Promise<TaskAnswer> {
    return this.#queueOf(typeof account === 'string' ? account : accountText(account)).ask(task)
  }

  /**
   * Moves the accounts to what decisions are due that were just written, and tidies up later.
   *
   * @throws BudgetBusyError, StoreUnavailableError: recovery does it then
   */
  async settle(decisions: readonly Settling[]): Promise<void> {
    await Promise.all(
      decisions.flatMap(({ _id, ledger }) =>
        Object.values(ledger)
          .filter(isUnsettled)
          .map((line) => this.ask(line.key, { kind: 'settle', decision: _id })),
      ),
    )
    this.#untidy.push(...decisions.filter(({ ledger }) => Object.keys(ledger).length > 0))
    if (this.#untidy.length > 0) this.#tidying ??= this.#tidySoon()
  }

  /** Waits for the tidying up under way, and does what is left of it. */
  async finish(): Promise<void> {
    await this.#batch
    await this.#tidy()
  }

  async #tidy(): Promise<void> {
    const decisions = this.#untidy.splice(0)
    const unbooked = decisions.filter(({ ledger }) => Object.values(ledger).some(isUnsettled))
    const isBooked = await this.#book(unbooked)
    await Promise.all(
      decisions.flatMap((decision) => {
        if (!isBooked && unbooked.includes(decision)) return []
        return Object.values(decision.ledger).map(({ key, due }) =>
          this.ask(key, { kind: 'forget', decision: decision._id, attempt: decision.attempt, n: due.n }),
        )
      }),
    )
  }

  async #tidySoon(): Promise<void> {
    while (this.#untidy.length > 0) {
      if (this.#untidy.length < TIDY_AT) await pause(TIDY_AFTER_MS, undefined, { ref: false })
      // What could not be tidied is found by recovery.
      this.#batch = this.#tidy().catch(() => {})
      await this.#batch
    }
    this.#tidying = null
  }

  /** True when every one is booked as it was settled: only then may marks go. */
  async #book(decisions: readonly Settling[]): Promise<boolean> {
    if (decisions.length === 0) return true
    const updates = decisions.map(({ _id, rev, ledger }) => ({
      updateOne: { filter: { _id, rev }, update: booking(ledger) },
    }))
    const { matchedCount } = await this.#database.call(() =>
      this.#database.decisions.bulkWrite(updates, { ordered: false }),
    )
    return matchedCount === updates.length
  }

  #queueOf(text: string): AccountQueue {
    const id = textId(text)
    return this.#queues.get(id) ?? this.#newQueue(id, text)
  }

  #newQueue(id: string, text: string): AccountQueue {
    if (this.#queues.size >= MAX_QUEUES)
      for (const [other, queue] of this.#queues) if (queue.isIdle) this.#queues.delete(other)
    const order = openedAt(this.#nowMs(), this.#opened++, id)
    const queue = new AccountQueue(this.#database, id, text, order, this.#nowMs)
    this.#queues.set(id, queue)
    return queue
  }
}

function isUnsettled({ due, booked }: LedgerLine): boolean {
  return due.n !== booked.n
}

/** What marks all that is due as booked. */
function booking(ledger: Readonly<Record<string, LedgerLine>>) {
  const lines = Object.entries(ledger).filter(([, line]) => isUnsettled(line))
  return {
    $set: Object.fromEntries(lines.map(([id, { due }]) => [`ledger.${id}.booked`, due])),
    $unset: { unsettled: 1 as const },
  }
}
