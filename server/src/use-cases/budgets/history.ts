import type { BudgetAccount } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import type { StoredAccount } from '../../ports/store/documents.js'
import type { Page, PageRequest } from '../../ports/store/page.js'
import { toEnginePolicy } from '../../state/policies.js'
import { fillPage, takeWanted } from './account-pages.js'
import { assertKnown, type ReadBudgetsDeps } from './list.js'
import { budgetOf, isPresent } from './policy-budget.js'
import { WrittenForms } from './written-forms.js'

/**
 * Lists the past accounts of a policy, deleted or not, last opened first: those that {@link listBudgetOfPolicy} omits.
 *
 * @throws DomainError not_found
 */
export async function listBudgetHistory(
  deps: ReadBudgetsDeps,
  caller: Caller,
  policyId: string,
  page: PageRequest,
): Promise<Page<BudgetAccount>> {
  await assertKnown(deps.store, policyId)
  await deps.expireOverdue()
  const policy = deps.policies.find(policyId)
  const present = policy === undefined ? null : budgetOf(toEnginePolicy(policy))
  const at = deps.clock.now()
  const isPast = (account: StoredAccount) =>
    BigInt(account.reserved) === 0n && (present === null || !isPresent(account, present.budget, at))

  const filter = { policy_id: policyId, agents: caller.key.agents }
  const found = await fillPage({ after: page.after }, page.limit, async ({ after }, room) => {
    const { items, next } = await takeWanted(deps.store.accounts, filter, isPast, after, room)
    return { items, next: next === null ? null : { after: next } }
  })
  return { items: await new WrittenForms(deps.store).view(found.items), next: found.next?.after ?? null }
}
