import type { DecisionDetail, Page, Policy, SimulateResponse } from '@countersign/contract'
import { post } from './client'
import { listDecisions } from './decisions'
import { everyPage } from './every-page'
import { sumOf } from './exact-sum'
import { getPolicy } from './policies'

const LIMIT = 200
/** So many waiting reviews are read at most. One agent cannot have more than 100. */
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

/** Those with a review, answered or not, newest first. */
export const reviewed = (
  query: { readonly status?: 'declined'; readonly cursor?: string | undefined },
  signal?: AbortSignal,
): Promise<Page<DecisionDetail>> => listDecisions({ effect: 'review', ...query, limit: LIMIT }, signal)

/** One budget, as an approval would find and leave it. */
export interface BudgetAfter {
  readonly policy_id: string
  readonly policy_name: string
  readonly unit: string
  readonly period: DecisionDetail['budgets'][number]['period']
  readonly resets_at: string | null
  readonly limit: number
  /** What the action takes. Null when the request does not say it in a valid way. */
  readonly amount: number | null
  /** Before the approval. */
  readonly remaining: number
  /** Whether the amount is more than that. */
  readonly exceeds: boolean
  /** Whether a reviewer may approve it all the same. */
  readonly may_exceed: boolean
}

export interface AfterApproval {
  /** Why the current policies would refuse an approval. Null when they would not. */
  readonly denied: string | null
  readonly budgets: readonly BudgetAfter[]
}

/**
 * What approving would do now. The server decides the request again with every review of the policies that decide as an
 * allow: so it names the budgets that the approval asks, with the amounts that it reads.
 *
 * @throws ApiError
 */
export async function afterApproval(decision: DecisionDetail, signal?: AbortSignal): Promise<AfterApproval> {
  const { agent_id, action, resource, context } = decision
  const request = { agent_id, action, resource, context }
  const options = signal && { signal }
  const now = await post<SimulateResponse>('/simulate', { request }, options)
  const isRefused = now.effect === 'deny' && now.reason_code !== 'budget_exceeded'
  if (isRefused) return { denied: now.reason ?? 'The policies deny it.', budgets: [] }
  const ids = decidingPolicies(now)
  const policies = await Promise.all(ids.map(getPolicy))
  if (policies.every(({ budget }) => budget === undefined)) return { denied: null, budgets: [] }
  const approved = await post<SimulateResponse>('/simulate', { request, policies: policies.map(approving) }, options)
  return afterOf(approved, policies)
}

/** Those whose own rule allows the action or sends it to a review, at the priority that decides. */
export function decidingPolicies({ explanation }: Pick<SimulateResponse, 'explanation'>): string[] {
  const priority = explanation.policies.find(({ decided }) => decided)?.priority
  return explanation.policies
    .filter((policy) => policy.mode === 'enforce' && policy.priority === priority)
    .filter(({ result }) => result === 'allow' || result === 'review')
    .map(({ policy_id }) => policy_id)
}

/** The policy with its reviews approved. */
export function approving(policy: Policy): object {
  return {
    ...policy,
    // `on_unknown` is not for an allow. Whatever is unknown has not kept the request from a review.
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
    denied: isDenied ? (reason ?? 'The budget refuses it.') : null,
    budgets: approved.budgets.flatMap((row) => {
      const policy = policies.find(({ id }) => id === row.policy_id)
      if (policy?.budget === undefined) return []
      const { policy_id, unit, period, resets_at, amount } = row
      // A row of a budget that was taken from has what remains after.
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
