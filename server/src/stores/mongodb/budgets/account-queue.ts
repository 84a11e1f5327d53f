import { Batches } from '../../../concurrency/batches.js'
import { type Balance, BudgetBusyError, CallInProgressError } from '../../../ports/store/ledger.js'
import type { Database } from '../connection/database.js'
import type { AccountDocument, Mark } from '../stored.js'
import {
  accountOf,
  type Draft,
  draftOf,
  forget,
  newAccount,
  type Owing,
  remove,
  reserve,
  settle,
} from './account-steps.js'
import type { AccountWrite } from './account-write.js'

/** A change of an account. Each is done at most once, even if it is tried several times. */
export type AccountTask =
  | {
      readonly kind: 'reserve'
      readonly attempt: string
      readonly mark: Omit<Mark, 'attempt'>
      readonly limit: bigint | null
    }
  /** Move the totals to the amounts that the decision owes. */
  | { readonly kind: 'settle'; readonly decision: string }
  /** Drop the marks that the decision has booked. */
  | { readonly kind: 'forget'; readonly decision: string; readonly attempt: string | null; readonly n: number }
  /** Remove a reservation that can never be committed. */
  | { readonly kind: 'remove'; readonly attempt: string }

export interface TaskAnswer {
  /** False for a reservation that found no room. */
  readonly isDone: boolean
  /** The balance right after. */
  readonly balance: Balance
}

/** How long this process tries to write an account that many processes write at once. */
const DEADLINE_MS = 4000
/** The most reservations and settlements of one account in progress at a time. */
const MAX_MARKS = 2000

/**
 * The work of this process on one account, in batches: tasks that arrive during one write form the next, so that a hot
 * account costs one write per round trip. The document as last written is kept: as long as no other process writes it,
 * it need not be read.
 */
export class AccountQueue {
  #known: AccountDocument | null = null
  readonly #batches = new Batches<AccountTask, TaskAnswer>((tasks) => this.#write(tasks))

  /** @param replace writes the account; returns false when it must be read again */
  constructor(
    private readonly database: Database,
    private readonly replace: (write: AccountWrite) => Promise<boolean>,
    private readonly id: string,
    private readonly text: string,
    private readonly opened: string,
    private readonly nowMs: () => number,
  ) {}

  get isIdle(): boolean {
    return this.#batches.isIdle
  }

  /** @throws BudgetBusyError, StoreUnavailableError */
  ask(task: AccountTask): Promise<TaskAnswer> {
    return this.#batches.ask(task)
  }

  async #write(tasks: readonly AccountTask[]): Promise<readonly (TaskAnswer | Error)[]> {
    const started = performance.now()
    for (;;) {
      const isFresh = this.#known === null
      const account = this.#known ?? (await this.#read())
      // After any failure from here on, the account must be read again.
      this.#known = null
      // Read after the account, because a decision that was read before it may have been settled there since.
      const decisions = await this.#readDecisions(tasks)
      const draft = draftOf(account)
      const answers = tasks.map((task) => this.#apply(draft, task, decisions))
      // Since the document was read, another process may have released room, or may have removed this very mark.
      if (!isFresh && (!draft.isChanged || answers.some((answer) => answer instanceof Error || !answer.isDone)))
        continue
      const after = draft.isChanged ? accountOf(draft) : account
      if (!draft.isChanged || (await this.replace({ before: account, after }))) {
        this.#known = after.v === 0 ? null : after
        return answers
      }
      if (performance.now() - started > DEADLINE_MS)
        throw new BudgetBusyError('Other processes keep changing this account.')
    }
  }

  #apply(draft: Draft, task: AccountTask, decisions: ReadonlyMap<string, Owing>): TaskAnswer | Error {
    switch (task.kind) {
      case 'reserve': {
        // A mark of this very attempt: the answer to its write was lost.
        if (draft.marks[task.attempt] !== undefined) break
        const amount = BigInt(task.mark.reserved)
        if (task.limit !== null && draft.spent + draft.reserved + amount > task.limit)
          return isInProgress(draft, task.mark.call)
            ? new CallInProgressError()
            : { isDone: false, balance: balanceOf(draft) }
        if (Object.keys(draft.marks).length >= MAX_MARKS)
          return new BudgetBusyError('Too many decisions are waiting for this account.')
        reserve(draft, task.attempt, task.mark)
        break
      }
      case 'settle': {
        const decision = decisions.get(task.decision)
        if (decision !== undefined) settle(draft, decision, this.nowMs())
        break
      }
      case 'forget':
        forget(draft, task.decision, task.attempt, task.n)
        break
      case 'remove':
        remove(draft, task.attempt)
    }
    return { isDone: true, balance: balanceOf(draft) }
  }

  async #read(): Promise<AccountDocument> {
    const found = await this.database.findById(this.database.accounts, this.id)
    return found ?? newAccount(this.id, this.text, this.opened)
  }

  async #readDecisions(tasks: readonly AccountTask[]): Promise<ReadonlyMap<string, Owing>> {
    const ids = tasks.flatMap((task) => (task.kind === 'settle' ? [task.decision] : []))
    if (ids.length === 0) return new Map()
    return this.database.findByIds(this.database.decisions, ids, ['ledger', 'attempt'])
  }
}

function balanceOf({ spent, reserved }: Draft): Balance {
  return { spent, reserved }
}

function isInProgress({ marks }: Draft, call: string | undefined): boolean {
  return call !== undefined && Object.values(marks).some((mark) => mark.call === call)
}
