import type { DecisionDetail } from '@countersign/contract'
import { Text } from '@mantine/core'
import { amountText } from '../../components/amount'
import { Badge } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { Facts, Panel } from '../../components/panel'
import { Ago, At } from '../../components/time'
import { endingOf } from './ending'

/** The outcome of the action. Renders nothing for a decision that never let it run. */
export function OutcomePanel({ decision }: { readonly decision: DecisionDetail }) {
  const { outcome, status, expires_at, budgets } = decision
  if (outcome !== null) {
    const { result, amount, note, at, late, overage, corrected } = outcome
    return (
      <Panel title="Outcome" aside={<Badge tone={result === 'confirmed' ? 'allow' : 'quiet'}>{result}</Badge>}>
        <Facts
          facts={[
            ['Meaning', result === 'confirmed' ? 'The action happened.' : 'The action did not happen.'],
            ['When', <At key="at" at={at} />],
            ['Amount', amount === null ? null : amountText(amount, unitOf(budgets)).trim()],
            ['Note', note === null ? null : visibleText(note)],
            ['Late', late ? 'Reported after the decision expired.' : null],
            ['Overage', overage ? 'More was spent than was reserved.' : null],
            ['Corrected', corrected ? 'An operator replaced the outcome that was reported first.' : null],
          ]}
        />
      </Panel>
    )
  }
  if (status === 'authorized')
    return (
      <Panel title="Outcome">
        <Text className="quiet">
          Not reported yet. The decision expires <Ago at={expires_at} />.
        </Text>
      </Panel>
    )
  if (status === 'expired')
    return (
      <Panel title="Outcome">
        <Text className="quiet">
          Expired <Ago at={expires_at} />. {endingOf(decision)}
        </Text>
      </Panel>
    )
  return null
}

/** Returns the unit of the confirmed amount. Budgets that read the same amount normally have the same unit. */
function unitOf(budgets: DecisionDetail['budgets']): string {
  const units = new Set(budgets.map(({ unit }) => unit))
  return units.size === 1 ? [...units].join() : ''
}
