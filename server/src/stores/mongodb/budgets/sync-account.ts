import type { AccountKey } from '@countersign/contract'
import { BudgetBusyError } from '../../../ports/store/ledger.js'
import { fence, insertVoids } from '../collections/fences.js'
import type { Database } from '../connection/database.js'
import type { Mark } from '../stored.js'
import { accountId } from './account-id.js'
import { ownMark } from './account-steps.js'
import type { Settlements, Settling } from './settlements.js'

/** How long this process tries to write an account that others write all the time. */
const DEADLINE_MS = 10_000

/**
 * Moves an account to the amounts that decisions owe, and removes all their marks. That includes reservations whose
 * decision was never written, and this makes sure that it never will be. The account is written through this process's
 * queue, so that many marks cost few writes and the requests of a hot account get their turn.
 *
 * @param signal once it is aborted, the rest is left as it is
 * @throws BudgetBusyError, StoreUnavailableError
 */
export async function syncAccount(
  database: Database,
  settlements: Settlements,
  account: AccountKey,
  decisions: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  const started = performance.now()
  for (let left = decisions; left.length > 0 && signal?.aborted !== true; ) {
    if (performance.now() - started > DEADLINE_MS)
      throw new BudgetBusyError('The decisions of this account keep changing.')
    left = await new AccountSync(database, settlements, account).stepFor(left)
  }
}

class AccountSync {
  readonly #id: string

  constructor(
    private readonly database: Database,
    private readonly settlements: Settlements,
    private readonly account: AccountKey,
  ) {
    this.#id = accountId(account)
  }

  /** Does one step for each decision. Returns those for which more may be left to do. */
  async stepFor(ids: readonly string[]): Promise<readonly string[]> {
    // Reads the account first, because a decision that was read before it may have been settled there since.
    const found = await this.database.call(() => this.database.accounts.findOne({ _id: this.#id }))
    const marks = found?.marks ?? {}
    const decisions = await this.database.findByIds(this.database.decisions, ids, ['rev', 'attempt', 'ledger'])
    const byDecision = new Map<string, Mark[]>()
    for (const mark of Object.values(marks))
      byDecision.set(mark.decision, [...(byDecision.get(mark.decision) ?? []), mark])
    const missing = ids.filter((id) => !decisions.has(id) && byDecision.has(id))
    // From now on no record can commit their marks.
    await insertVoids(this.database, missing)
    const hasMore = await Promise.all(
      [...decisions.values()].map((decision) => this.#step(decision, marks, byDecision.get(decision._id) ?? [])),
    )
    return [...missing, ...[...decisions.keys()].filter((_, i) => hasMore[i])]
  }

  /** Returns false when nothing is left to do. */
  async #step(decision: Settling, marks: Readonly<Record<string, Mark>>, own: readonly Mark[]): Promise<boolean> {
    const { _id, rev, attempt, ledger } = decision
    const foreign = own.filter((mark) => mark.attempt !== null && mark.attempt !== attempt)
    if (foreign.length > 0) {
      // While the decision is as an attempt found it, the attempt may still be committed.
      if (foreign.some((mark) => mark.rev === rev)) {
        await fence(this.database, this.database.decisions, decision)
        return true
      }
      await Promise.all(foreign.map((mark) => this.#ask({ kind: 'remove', attempt: mark.attempt as string })))
      return ledger[this.#id] !== undefined
    }
    const line = ledger[this.#id]
    if (line === undefined) return false
    const mark = ownMark({ marks }, _id, attempt)
    if ((mark ?? line.booked).n < line.due.n) {
      await this.#ask({ kind: 'settle', decision: _id })
      return true
    }
    if (mark === undefined) return false
    // The mark is dropped only after the booking was read.
    if (line.booked.n < line.due.n) await this.#book(decision)
    else await this.#ask({ kind: 'forget', decision: _id, attempt, n: line.booked.n })
    return true
  }

  async #book({ _id, ledger }: Settling): Promise<void> {
    const due = ledger[this.#id]?.due
    if (due === undefined) return
    await this.database.call(() =>
      this.database.decisions.updateOne(
        { _id, [`ledger.${this.#id}.booked.n`]: { $lt: due.n } },
        { $set: { [`ledger.${this.#id}.booked`]: due } },
      ),
    )
  }

  async #ask(task: Parameters<Settlements['ask']>[1]): Promise<void> {
    await this.settlements.ask(this.account, task)
  }
}
