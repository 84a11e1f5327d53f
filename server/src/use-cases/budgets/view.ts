import { type Budget, type BudgetAccount, fromMicro, toMicro } from '@countersign/contract'
import { periodAt } from '@countersign/engine'
import type { StoredAccount } from '../../ports/store/documents.js'

/** The last revision of a policy that wrote a budget of this form. */
export interface WrittenForm {
  /** Only its limit and unit apply; its other members may belong to another form. */
  readonly budget: Pick<Budget, 'limit' | 'unit'>
  /** Null while the policy exists. */
  readonly deletedAt: string | null
}

/** An account as the API shows it, in the policy's unit. */
export function viewAccount(account: StoredAccount, { budget, deletedAt }: WrittenForm): BudgetAccount {
  const { policy_id, agent_id, period, starts_at } = account
  const [spent, reserved] = [BigInt(account.spent), BigInt(account.reserved)]
  const left = toMicro(budget.limit) - spent - reserved
  return {
    policy_id,
    agent_id,
    unit: budget.unit,
    limit: budget.limit,
    period,
    starts_at,
    resets_at: starts_at === null ? null : periodAt(period, new Date(starts_at)).resets_at,
    spent: fromMicro(spent),
    reserved: fromMicro(reserved),
    remaining: fromMicro(left > 0n ? left : 0n),
    ...(deletedAt !== null && { deleted_at: deletedAt }),
  }
}
