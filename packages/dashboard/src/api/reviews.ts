import type { DecisionDetail, Page, Policy, SimulateResponse } from '@countersign/contract'
import { call } from './client'
import { listDecisions } from './decisions'
import { everyPage } from './every-page'
import { sumOf } from './exact-sum'
import { getPolicy } from './policies'

const LIMIT = 200
/** The most pending reviews that a page reads. One agent cannot have more than 100. */
export const MOST_WAITING = 1_000

export const waitingReviews = (agentId: string | undefined, signal?: AbortSignal) =>
  everyPage(
    (cursor) =>
      listDecisions(
        { status: 'awaiting_review', ...(agentId !== undefined && { agent_id: agentId }), limit: LIMIT, cursor },
        signal,
      ),
    MOST_WAITING,
  )

/** Lists decisions with a review, answered or not, newest first. */
export const reviewed = (
  query: { readonly status?: 'declined'; readonly cursor?: string | undefined },
  signal?: AbortSignal,
): Promise<Page<DecisionDetail>> => listDecisions({ effect: 'review', ...query, limit: LIMIT }, signal)

/** One budget before and after an approval. */
export interface BudgetAfter {
  readonly policy_id: string
  readonly policy_name: string
  readonly unit: string
  readonly period: DecisionDetail['budgets'][number]['period']
  readonly resets_at: string | null
  readonly limit: number
  /** The amount of the action. Null when the request has no valid amount. */
  readonly amount: number | null
  /** Before the approval. */
  readonly remaining: number
  /** Whether the amount exceeds what remains. */
  readonly exceeds: boolean
  /** Whether a reviewer may exceed this budget. */
  readonly may_exceed: boolean
}

export interface AfterApproval {
  /** Why the current policies refuse an approval. Null when they do not. */
  readonly denied: string | null
  readonly budgets: readonly BudgetAfter[]
}

/**
 * Returns what an approval would do now. The server simulates the request with the deciding policies, in which every review
 * rule allows. Its answer lists the budgets that the approval uses, with their amounts.
 *
 * @throws ApiError
 */
export async function afterApproval(decision: DecisionDetail, signal?: AbortSignal): Promise<AfterApproval> {
  const { agent_id, action, resource, context } = decision
  const request = { agent_id, action, resource, context }
  const now = await call('policies.simulate', { body: { request }, signal })
  const isRefused = now.effect === 'deny' && now.reason_code !== 'budget_exceeded'
  if (isRefused) return { denied: now.reason ?? 'The policies deny it.', budgets: [] }
  const ids = decidingPolicies(now)
  const policies = await Promise.all(ids.map(getPolicy))
  if (policies.every(({ budget }) => budget === undefined)) return { denied: null, budgets: [] }
  const approved = await call('policies.simulate', { body: { request, policies: policies.map(approving) }, signal })
  return afterOf(approved, policies)
}

/** Returns the policies at the deciding priority whose own rule allows the action or requires a review. */
export function decidingPolicies({ explanation }: Pick<SimulateResponse, 'explanation'>): string[] {
  const priority = explanation.policies.find(({ decided }) => decided)?.priority
  return explanation.policies
    .filter((policy) => policy.mode === 'enforce' && policy.priority === priority)
    .filter(({ result }) => result === 'allow' || result === 'review')
    .map(({ policy_id }) => policy_id)
}

/** Returns the policy with each review rule turned into an allow rule. */
export function approving(policy: Policy): Policy {
  return {
    ...policy,
    // `on_unknown` is not valid in an allow rule. An unknown condition did not keep this request from its review.
    rules: policy.rules.map(({ on_unknown, ...rule }) =>
      rule.effect === 'review'
        ? { ...rule, effect: 'allow' }
        : { ...rule, ...(on_unknown !== undefined && { on_unknown }) },
    ),
  }
}

export function afterOf(approved: SimulateResponse, policies: readonly Policy[]): AfterApproval {
  const { effect, reason, reason_code } = approved
  const isDenied = effect === 'deny' && reason_code !== 'budget_exceeded'
  return {
    denied: isDenied ? (reason ?? 'The budget has no room for it.') : null,
    budgets: approved.budgets.flatMap((row) => {
      const policy = policies.find(({ id }) => id === row.policy_id)
      if (policy?.budget === undefined) return []
      const { policy_id, unit, period, resets_at, amount } = row
      // The row of a budget that reserved the amount shows what remains afterwards.
      const remaining = row.reserved ? sumOf(row.remaining, amount ?? 0) : row.remaining
      return [
        {
          policy_id,
          policy_name: policy.name,
          unit,
          period,
          resets_at,
          limit: policy.budget.limit,
          amount,
          remaining,
          exceeds: (amount ?? 0) > remaining,
          may_exceed: policy.budget.on_exceed === 'review',
        },
      ]
    }),
  }
}
