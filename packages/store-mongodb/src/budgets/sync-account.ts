import type { AccountKey } from '@countersign/contract'
import { BudgetBusyError } from '@countersign/store-port/ledger'
import { fence, insertVoids } from '../collections/fences.js'
import type { Database } from '../connection/database.js'
import type { DecisionDocument, Mark } from '../stored.js'
import { accountId } from './account-id.js'
import { ownMark } from './account-steps.js'
import type { Settlements } from './settlements.js'

/** An account that others write all the time is left to them after so long. */
const DEADLINE_MS = 10_000

/**
 * Brings an account to what decisions are due, and takes out every mark of theirs: also those of reservations whose
 * decision never came, which it makes sure that it never will. The account is written by way of this process's queue, so
 * that many marks cost few writes, and so that its turn comes beside the requests of a hot account.
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

  /** One step for each decision. Answers those for which something may be left to do. */
  async stepFor(ids: readonly string[]): Promise<readonly string[]> {
    // The account first: a decision that was read before it may have been settled there since.
    const found = await this.database.call(() => this.database.accounts.findOne({ _id: this.#id }))
    const marks = found?.marks ?? {}
    const decisions = await this.#read(ids)
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

  async #read(ids: readonly string[]): Promise<ReadonlyMap<string, DecisionDocument>> {
    const found = await this.database.call(() =>
      this.database.decisions
        .find({ _id: { $in: [...ids] } })
        .project<DecisionDocument>({ rev: 1, attempt: 1, ledger: 1 })
        .toArray(),
    )
    return new Map(found.map((decision) => [decision._id, decision]))
  }

  /** False when nothing is left to do. */
  async #step(
    decision: DecisionDocument,
    marks: Readonly<Record<string, Mark>>,
    own: readonly Mark[],
  ): Promise<boolean> {
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
    // The mark goes only once the booking was read.
    if (line.booked.n < line.due.n) await this.#book(decision)
    else await this.#ask({ kind: 'forget', decision: _id, attempt, n: line.booked.n })
    return true
  }

  async #book({ _id, ledger }: DecisionDocument): Promise<void> {
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
