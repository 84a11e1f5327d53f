/** The result of a simulated request, and the reasons for it. */
import type { DecisionBudget, Explanation, SimulateResponse } from '@countersign/contract'
import { Group, Stack, Table, Text, Title } from '@mantine/core'
import { Amount } from '../amount'
import { EffectBadge, wordsOf } from '../badges'
import { ExplanationView } from '../explanation/explanation-view'
import { visibleText } from '../invisible'
import { PolicyLink } from '../object-links'
import { At } from '../time'
import classes from './simulator.module.css'

export interface SimulationViewProps {
  readonly answer: SimulateResponse
  /** The id of the policy that is not stored. */
  readonly draftId?: string
}

export function SimulationView({ answer, draftId }: SimulationViewProps) {
  const { effect, reason, reason_code, rule, budgets, shadow, explanation } = answer
  return (
    <Stack gap="md">
      <div>
        <Group gap="xs" role="status">
          <EffectBadge effect={effect} />
          <Text fw={600} style={{ overflowWrap: 'anywhere' }}>
            {visibleText(reason ?? 'A rule allows it.')}
          </Text>
        </Group>
        <Text size="sm" className="quiet" mt={4} style={{ overflowWrap: 'anywhere' }}>
          {wordsOf(reason_code)}, by {rule !== null && `rule ${rule + 1} of `}
          <PolicyName id={answer.policy_id} explanation={explanation} {...(draftId !== undefined && { draftId })} />
        </Text>
      </div>
      {budgets.length > 0 && (
        <section aria-label="Budgets">
          <Title order={3} size="h5" mb={4}>
            Budgets afterwards
          </Title>
          <Budgets budgets={budgets} explanation={explanation} />
        </section>
      )}
      {shadow.length > 0 && (
        <section aria-label="Shadow policies">
          <Title order={3} size="h5" mb={4}>
            Shadow policies would return
          </Title>
          {shadow.map((one) => (
            <Group key={one.policy_id} gap="xs">
              <EffectBadge effect={one.effect} />
              <Text size="sm">
                rule {one.rule + 1} of{' '}
                <PolicyName id={one.policy_id} explanation={explanation} {...(draftId !== undefined && { draftId })} />
              </Text>
            </Group>
          ))}
        </section>
      )}
      <section aria-label="Explanation">
        <Title order={3} size="h5" mb={4}>
          Every policy evaluated
        </Title>
        <ExplanationView explanation={explanation} {...(draftId !== undefined && { draftId })} />
      </section>
    </Stack>
  )
}

interface PolicyNameProps {
  readonly id: string
  readonly explanation: Explanation
  readonly draftId?: string
}

function PolicyName({ id, explanation, draftId }: PolicyNameProps) {
  if (id === 'pol_default') return <>no policy</>
  const name = explanation.policies.find(({ policy_id }) => policy_id === id)?.name
  if (id === draftId) return <>{visibleText(name ?? id)} (the draft)</>
  return (
    <span className={classes.inText}>
      <PolicyLink id={id} name={name} />
    </span>
  )
}

function Budgets({
  budgets,
  explanation,
}: Pick<SimulateResponse, 'explanation'> & { readonly budgets: readonly DecisionBudget[] }) {
  return (
    <Table aria-label="Budgets">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Policy</Table.Th>
          <Table.Th>Amount</Table.Th>
          <Table.Th>Left after</Table.Th>
          <Table.Th>Resets</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {budgets.map(({ policy_id, unit, amount, remaining, reserved, over_limit, resets_at }) => (
          <Table.Tr key={policy_id}>
            <Table.Td style={{ overflowWrap: 'anywhere' }}>
              {visibleText(explanation.policies.find((policy) => policy.policy_id === policy_id)?.name ?? policy_id)}
            </Table.Td>
            <Table.Td>{amount === null ? '–' : <Amount amount={amount} unit={unit} />}</Table.Td>
            <Table.Td>
              <Amount amount={remaining} unit={unit} />
              {!reserved && ' (not reserved)'}
              {over_limit && ' (over the limit)'}
            </Table.Td>
            <Table.Td>{resets_at === null ? 'never' : <At at={resets_at} />}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
