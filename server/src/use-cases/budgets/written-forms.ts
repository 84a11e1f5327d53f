import { type AccountKey, type Budget, type BudgetAccount, LIMITS } from '@countersign/contract'
import type { StoredAccount } from '../../ports/store/documents.js'
import type { Store } from '../../ports/store/store.js'
import { isOfForm } from './policy-budget.js'
import { viewAccount, type WrittenForm } from './view.js'

/** A revision may be a large document, and one of the newest nearly always has the form. */
const REVISIONS_READ_AT_ONCE = 20

interface ReadRevisions {
  /** The budgets that were read so far, newest first. */
  readonly budgets: readonly Budget[]
  readonly deletedAt: string | null
  readonly after: string | null
  readonly isWhole: boolean
}
const NOTHING_READ: ReadRevisions = { budgets: [], deletedAt: null, after: null, isWhole: false }

/**
 * Finds, for each account, the last budget that its policy wrote in the account's form. Reads each revision at most
 * once.
 */
export class WrittenForms {
  private readonly read = new Map<string, ReadRevisions>()

  constructor(private readonly store: Pick<Store, 'policies'>) {}

  async view(accounts: readonly StoredAccount[]): Promise<BudgetAccount[]> {
    const views: BudgetAccount[] = []
    for (const account of accounts) views.push(viewAccount(account, await this.find(account)))
    return views
  }

  private async find(account: AccountKey): Promise<WrittenForm> {
    for (;;) {
      const known = this.read.get(account.policy_id) ?? NOTHING_READ
      const budget = known.budgets.find((written) => isOfForm(account, written))
      if (budget !== undefined) return { budget, deletedAt: known.deletedAt }
      if (known.isWhole) throw new Error(`No revision of ${account.policy_id} has the budget of this account.`)
      this.read.set(account.policy_id, await this.readOn(account.policy_id, known))
    }
  }

  private async readOn(policyId: string, known: ReadRevisions): Promise<ReadRevisions> {
    const page = { limit: REVISIONS_READ_AT_ONCE, maxBytes: LIMITS.pageBytes, after: known.after }
    const { items, next } = await this.store.policies.listRevisions(policyId, page)
    return {
      budgets: [...known.budgets, ...items.flatMap(({ document }) => document.budget ?? [])],
      deletedAt: known.after === null ? (items[0]?.deleted_at ?? null) : known.deletedAt,
      after: next,
      isWhole: next === null,
    }
  }
}
