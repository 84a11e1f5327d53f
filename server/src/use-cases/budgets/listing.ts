import type { BudgetAccount } from '@countersign/contract'
import type { EnginePolicy } from '@countersign/engine'
import type { AccountFilter } from '../../ports/store/accounts.js'
import type { StoredAccount } from '../../ports/store/documents.js'
import type { Store } from '../../ports/store/store.js'
import { type Step, takeWanted } from './account-pages.js'
import { budgetOf, isPresent, type PolicyBudget, presentAccount, presentAgentAccounts } from './policy-budget.js'
import { viewAccount } from './view.js'
import { WrittenForms } from './written-forms.js'

/**
 * How far a listing has come. Present accounts come first, policy by policy: the accounts of all policies down to
 * `policy` are listed, and those of the next policy up to `after`. Then come the other accounts, up to `after`.
 */
export type ListingPosition =
  | { readonly part: 'present'; readonly policy: string | null; readonly after: string | null }
  | { readonly part: 'others'; readonly after: string | null }

type ListingStep = Step<BudgetAccount, ListingPosition>

interface Listed {
  readonly policies: Iterable<EnginePolicy>
  /** The time that decides which accounts are present. */
  readonly at: Date
  /** The accounts of one policy or of all, limited to the agents that the caller may see. */
  readonly filter: Pick<AccountFilter, 'policy_id' | 'agents'>
}

/**
 * Lists the present account of each budget, newest policy first; an unused account has zeros. A budget with the scope
 * `agent` has one account for each agent that it counted for. Then come the other accounts that still hold a
 * reservation.
 */
export class Listing {
  static readonly START: ListingPosition = { part: 'present', policy: null, after: null }

  private readonly budgets: ReadonlyMap<string, PolicyBudget>
  private readonly forms: WrittenForms

  constructor(
    private readonly store: Pick<Store, 'accounts' | 'policies'>,
    private readonly listed: Listed,
  ) {
    const budgets = Array.from(listed.policies, budgetOf).filter((found) => found !== null)
    budgets.sort((one, other) => (one.policyId < other.policyId ? 1 : -1))
    this.budgets = new Map(budgets.map((found) => [found.policyId, found]))
    this.forms = new WrittenForms(store)
  }

  /** Returns the next accounts, at most `room`. There may be none although the listing continues. */
  readonly take = (position: ListingPosition, room: number): Promise<ListingStep> =>
    position.part === 'present'
      ? this.takePresent(position.policy, position.after, room)
      : this.takeOthers(position.after, room)

  private async takePresent(policy: string | null, after: string | null, room: number): Promise<ListingStep> {
    const left = [...this.budgets.values()].filter(({ policyId }) => policy === null || policyId < policy)
    const [first] = left
    if (first === undefined) return { items: [], next: { part: 'others', after: null } }
    if (isOfAgents(first)) return this.takeAgents(first, policy, after, room)
    const end = left.findIndex(isOfAgents)
    return this.takeShared(left.slice(0, Math.min(room, end === -1 ? left.length : end)))
  }

  /** Takes from budgets with one account each. */
  private async takeShared(budgets: readonly PolicyBudget[]): Promise<ListingStep> {
    const accounts = await this.store.accounts.get(budgets.map((one) => presentAccount(one, this.listed.at)))
    const items = accounts.map((account) => this.viewPresent(account))
    return { items, next: { part: 'present', policy: budgets.at(-1)?.policyId ?? null, after: null } }
  }

  /** Takes from a budget with one account per agent. */
  private async takeAgents(
    budget: PolicyBudget,
    policy: string | null,
    after: string | null,
    room: number,
  ): Promise<ListingStep> {
    const filter = { ...presentAgentAccounts(budget, this.listed.at), agents: this.listed.filter.agents }
    const found = await this.store.accounts.list(filter, { limit: room, after })
    const isDone = found.next === null
    return {
      items: found.items.map((account) => this.viewPresent(account)),
      next: { part: 'present', policy: isDone ? budget.policyId : policy, after: found.next },
    }
  }

  private async takeOthers(after: string | null, room: number): Promise<ListingStep> {
    const filter = { ...this.listed.filter, is_reserved: true } as const
    const isOther = (account: StoredAccount) => !this.isPresent(account)
    const found = await takeWanted(this.store.accounts, filter, isOther, after, room)
    const items = await this.forms.view(found.items)
    return { items, next: found.next === null ? null : { part: 'others', after: found.next } }
  }

  private viewPresent(account: StoredAccount): BudgetAccount {
    const { budget } = this.budgets.get(account.policy_id) as PolicyBudget
    return viewAccount(account, { budget, deletedAt: null })
  }

  private isPresent(account: StoredAccount): boolean {
    const found = this.budgets.get(account.policy_id)
    return found !== undefined && isPresent(account, found.budget, this.listed.at)
  }
}

function isOfAgents({ budget }: PolicyBudget): boolean {
  return budget.scope === 'agent'
}
