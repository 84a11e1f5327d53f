/** Which accounts GET /v1/budgets lists; written from the contract alone. */
import { type Account, accountOf, type BalanceOf, roomOf } from './reference-budgets.js'
import { number, periodOf } from './reference-money.js'
import type { ReferencePolicy } from './reference-policies.js'

export interface PolicyHistory {
  /** The last one last. */
  readonly revisions: ReferencePolicy[]
  deletedAt: string | null
}

type Policies = ReadonlyMap<string, PolicyHistory>

export function livePolicies(policies: Policies): ReferencePolicy[] {
  const live = [...policies.values()].filter(({ deletedAt }) => deletedAt === null)
  return live.flatMap(({ revisions }) => revisions.at(-1) ?? [])
}

const isSame = (a: Account, b: Account) =>
  a.policy_id === b.policy_id &&
  a.unit === b.unit &&
  a.period === b.period &&
  a.agent_id === b.agent_id &&
  a.starts_at === b.starts_at

/** The present account of each policy with a budget, and every other one in which something is reserved. */
export function listAccounts(
  policies: Policies,
  used: readonly Account[],
  balanceOf: BalanceOf,
  nowMs: number,
): object[] {
  const listed: Account[] = []
  const rows: object[] = []
  const list = (account: Account, policy: ReferencePolicy) => {
    if (listed.some((one) => isSame(one, account))) return
    listed.push(account)
    const deletedAt = policies.get(account.policy_id)?.deletedAt ?? null
    rows.push({ ...rowOf(account, policy, balanceOf), ...(deletedAt !== null && { deleted_at: deletedAt }) })
  }
  for (const policy of livePolicies(policies)) {
    const { id, budget } = policy
    if (budget === undefined) continue
    const { starts_at } = periodOf(budget.period, nowMs)
    // Where the scope is the agent: one for each that ever counted there.
    const isOfAgents = budget.scope === 'agent'
    for (const agent of isOfAgents ? used.flatMap(({ agent_id }) => agent_id ?? []) : ['']) {
      const account = accountOf(id, budget, agent, starts_at)
      if (!isOfAgents || used.some((one) => isSame(one, account))) list(account, policy)
    }
  }
  for (const account of used) if (balanceOf(account).reserved > 0n) list(account, lastOfForm(policies, account))
  return rows
}

function rowOf(account: Account, { budget }: ReferencePolicy, balanceOf: BalanceOf): object {
  const { unit, limit } = budget as NonNullable<ReferencePolicy['budget']>
  const { spent, reserved } = balanceOf(account)
  const { remaining } = roomOf(limit, { spent, reserved })
  const period = periodOf(account.period, account.starts_at === null ? 0 : Date.parse(account.starts_at))
  return { ...account, unit, limit, ...period, spent: number(spent), reserved: number(reserved), remaining }
}

/** The policy as it was when its budget last had accounts like this one. */
function lastOfForm(policies: Policies, { policy_id, unit, period, agent_id }: Account): ReferencePolicy {
  const found = policies.get(policy_id)?.revisions.findLast(({ budget }) => {
    const isOfForm = budget !== undefined && budget.unit.toLowerCase() === unit && budget.period === period
    return isOfForm && (budget.scope === 'agent') === (agent_id !== null)
  })
  if (found === undefined) throw new Error(`No revision of ${policy_id} has this form.`)
  return found
}
