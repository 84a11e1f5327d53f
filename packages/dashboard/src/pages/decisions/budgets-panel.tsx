import type { DecisionBudget } from '@countersign/contract'
import { Anchor, Stack, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { Amount } from '../../components/amount'
import { Badge } from '../../components/badges'
import { PolicyLink } from '../../components/object-links'
import { Facts, Panel } from '../../components/panel'
import { At } from '../../components/time'
import { useMay } from '../../session'
import type { AnswerPanelProps } from './answer-panel'

/** The effect of a decision on each budget. */
export function BudgetsPanel({ decision: { budgets }, names }: AnswerPanelProps) {
  const may = useMay()
  return (
    <Panel
      title="Budget effect"
      aside={
        may('budgets:read') && <Anchor renderRoot={(props) => <Link {...props} to="/budgets" />}>All budgets</Anchor>
      }
    >
      {budgets.length === 0 && <Text className="quiet">No budget applied.</Text>}
      <Stack gap="md">
        {budgets.map((budget) => (
          <Budget key={`${budget.policy_id} ${budget.unit}`} budget={budget} name={names.get(budget.policy_id)} />
        ))}
      </Stack>
    </Panel>
  )
}

function Budget({ budget, name }: { readonly budget: DecisionBudget; readonly name: string | undefined }) {
  const { policy_id, unit, amount, period, remaining, over_limit, reserved, resets_at } = budget
  return (
    <Facts
      facts={[
        ['Budget of', <PolicyLink key="policy" id={policy_id} name={name} />],
        ['Requested', amount === null ? 'no valid amount' : <Amount key="amount" amount={amount} unit={unit} />],
        ['Reserved', reserved ? 'yes' : 'no'],
        ['Remaining after', <Amount key="remaining" amount={remaining} unit={unit} />],
        [
          'Limit',
          over_limit ? (
            <Badge key="limit" tone="deny">
              over the limit
            </Badge>
          ) : null,
        ],
        ['Period', period],
        ['Resets', resets_at === null ? 'never' : <At key="resets" at={resets_at} />],
      ]}
    />
  )
}
