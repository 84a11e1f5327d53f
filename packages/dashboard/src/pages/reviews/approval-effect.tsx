/** The effect of an approval on budgets. */
import type { DecisionDetail } from '@countersign/contract'
import { Stack, Text } from '@mantine/core'
import { keepPreviousData, queryOptions, type UseQueryResult, useQuery } from '@tanstack/react-query'
import { sumOf } from '../../api/exact-sum'
import { type AfterApproval, afterApproval, type BudgetAfter } from '../../api/reviews'
import { amountText } from '../../components/amount'
import { BudgetBar } from '../../components/budget-bar'
import { visibleText } from '../../components/invisible'
import { Ago } from '../../components/time'
import { useMay } from '../../session'
import classes from './reviews.module.css'

/** There is no live event for a changed policy or a resumed agent, so a refusal is checked again this often. */
const REFRESH_REFUSED_MS = 5_000

export const afterApprovalQuery = (decision: DecisionDetail) =>
  queryOptions({
    // The prefix `budgets` refreshes this together with budgets.
    queryKey: ['budgets', 'after-approval', decision.request_hash],
    queryFn: ({ signal }) => afterApproval(decision, signal),
  })

/** @param isSeen whether the review is visible; others are not simulated */
export function useAfterApproval(decision: DecisionDetail, isSeen: boolean): UseQueryResult<AfterApproval> {
  const may = useMay()
  return useQuery({
    ...afterApprovalQuery(decision),
    enabled: isSeen && may('policies:read') && may('budgets:read'),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (isRefused(state.data ?? null) ? REFRESH_REFUSED_MS : false),
  })
}

/** Whether the server would refuse any approval now. False when unknown. */
export function isRefused(after: AfterApproval | null): boolean {
  return (
    after !== null && (after.denied !== null || after.budgets.some(({ exceeds, may_exceed }) => exceeds && !may_exceed))
  )
}

export interface ApprovalEffectProps {
  readonly decision: DecisionDetail
  readonly after: UseQueryResult<AfterApproval>
  readonly isOneOfMany: boolean
}

export function ApprovalEffect({ decision, after, isOneOfMany }: ApprovalEffectProps) {
  const may = useMay()
  const missing = (['policies:read', 'budgets:read'] as const).filter((scope) => !may(scope))
  return (
    <div>
      <Text fw={600} size="sm" mb={4}>
        {isOneOfMany ? 'Budgets after one approval' : 'Budgets after approval'}
      </Text>
      {missing.length > 0 ? (
        <Text className="quiet" size="sm">
          Your key cannot see what is left: it is missing {missing.join(' and ')}.{askedText(decision)}
        </Text>
      ) : after.data !== undefined ? (
        <Effect after={after.data} />
      ) : (
        <Text className="quiet" size="sm">
          {after.isError ? 'Unknown: the server could not say.' : 'Reading …'}
        </Text>
      )}
    </div>
  )
}

/** Describes the budgets at the time of the request. */
function askedText({ budgets }: DecisionDetail): string {
  return budgets
    .filter(({ amount }) => amount !== null)
    .map(
      ({ amount, unit, remaining }) =>
        ` It asked for ${amountText(amount as number, unit)} when ${amountText(remaining, unit)} were left.`,
    )
    .join('')
}

function Effect({ after: { denied, budgets } }: { readonly after: AfterApproval }) {
  if (denied !== null)
    return (
      <Text size="sm" className={classes.over}>
        The server would not accept an approval right now: {visibleText(denied)}
      </Text>
    )
  if (budgets.length === 0)
    return (
      <Text className="quiet" size="sm">
        No budget applies.
      </Text>
    )
  return (
    <Stack gap="sm">
      {budgets.map((budget) => (
        <OneBudget key={budget.policy_id} budget={budget} />
      ))}
    </Stack>
  )
}

function OneBudget({ budget }: { readonly budget: BudgetAfter }) {
  const { policy_name, unit, period, limit, amount, remaining, exceeds, resets_at } = budget
  const taken = amount ?? 0
  const used = Math.max(0, sumOf(limit, -remaining))
  const left = Math.max(0, sumOf(remaining, -taken))
  const text = exceeds
    ? `${amountText(taken, unit)} asked, ${amountText(remaining, unit)} left: ${amountText(sumOf(taken, -remaining), unit)} too much`
    : `${amountText(left, unit)} of ${amountText(limit, unit)} left after it, ${amountText(remaining, unit)} now`
  return (
    <div>
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {visibleText(policy_name)}, {period}
      </Text>
      <BudgetBar limit={limit} used={used} held={taken} label={text} />
      <Text size="sm" className={exceeds ? classes.over : 'quiet'}>
        {text}
        {resets_at !== null && (
          <>
            {' '}
            (new <Ago at={resets_at} />)
          </>
        )}
      </Text>
    </div>
  )
}
