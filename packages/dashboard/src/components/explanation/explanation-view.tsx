import type { Explanation, PolicyExplanation, RuleExplanation } from '@countersign/contract'
import { Group, Stack, Text, Title } from '@mantine/core'
import { Badge, EffectBadge } from '../badges'
import { visibleText } from '../invisible'
import { PolicyLink } from '../object-links'
import classes from './explanation.module.css'
import { FailedConditions } from './failed-conditions'
import { Fold } from './fold'
import { HeldConditions } from './held-conditions'
import { quietRuns } from './quiet-runs'

export interface ExplanationViewProps {
  readonly explanation: Pick<Explanation, 'policies' | 'nearest_miss'>
  /** The id of the policy that is not stored: it has no page to link to. */
  readonly draftId?: string
}

/** Shows every policy and rule evaluated, with expected and actual values. Policies and rules that did not apply are folded. */
export function ExplanationView({ explanation: { policies, nearest_miss }, draftId }: ExplanationViewProps) {
  if (policies.length === 0) return <Text className="quiet">No policy was evaluated.</Text>
  const common = { nearestMiss: nearest_miss, draftId }
  return (
    <Stack gap="sm">
      {quietRuns(policies, tookNoPart).map((run) =>
        'shown' in run ? (
          <Policy key={run.shown.policy_id} policy={run.shown} {...common} />
        ) : (
          <Fold
            key={run.folded[0]?.policy_id}
            title={`${counted(run.folded.length, 'policy', 'policies')} that did not apply`}
          >
            {() => (
              <Stack gap="sm">
                {run.folded.map((policy) => (
                  <Policy key={policy.policy_id} policy={policy} {...common} />
                ))}
              </Stack>
            )}
          </Fold>
        ),
      )}
    </Stack>
  )
}

interface PolicyProps {
  readonly policy: PolicyExplanation
  readonly nearestMiss: Explanation['nearest_miss']
  readonly draftId: string | undefined
}

function Policy({ policy, nearestMiss, draftId }: PolicyProps) {
  const { policy_id, name, revision, priority, mode, decided, rules } = policy
  const isDraft = policy_id === draftId
  const missed = nearestMiss?.policy_id === policy_id ? nearestMiss.rule : null
  return (
    <section className={classes.policy} data-decided={decided || undefined} aria-label={`Policy ${visibleText(name)}`}>
      <Group gap="xs" justify="space-between" align="baseline" className={classes.head}>
        <Title order={3} size="h4" className={classes.name}>
          {isDraft ? visibleText(name) : <PolicyLink id={policy_id} name={name} />}
        </Title>
        <Group gap={6}>
          {mode === 'shadow' && <Badge tone="log">shadow: recorded, not enforced</Badge>}
          {decided && <Badge tone="quiet">decided</Badge>}
          <PolicyResult policy={policy} />
        </Group>
      </Group>
      <div className={`quiet ${classes.small}`}>
        {isDraft ? 'Draft, ' : revision !== null && `Revision ${revision}, `}priority {priority}
      </div>
      {rules.length > 0 && (
        <div className={classes.rules}>
          {quietRuns(rules, ({ rule, result }) => rule !== missed && isQuiet(result)).map((run) =>
            'shown' in run ? (
              <Rule key={run.shown.rule} rule={run.shown} isNearest={run.shown.rule === missed} />
            ) : (
              <Fold key={run.folded[0]?.rule} title={foldedTitle(run.folded)}>
                {() => run.folded.map((rule) => <Rule key={rule.rule} rule={rule} isNearest={false} />)}
              </Fold>
            ),
          )}
        </div>
      )}
    </section>
  )
}

function PolicyResult({ policy: { result, agents } }: { readonly policy: PolicyExplanation }) {
  switch (result) {
    case 'disabled':
      return <Badge tone="quiet">disabled</Badge>
    case 'not_reached':
      return <Badge tone="quiet">not reached</Badge>
    case 'no_match':
      return <Badge tone="quiet">{agents === 'no_match' ? 'for other agents' : 'no rule matches'}</Badge>
    default:
      return <EffectBadge effect={result} />
  }
}

/** Rules are numbered from 1 here, as in the summary of the decision. */
function Rule({ rule: { rule, effect, result, ...conditions }, isNearest }: RuleProps) {
  return (
    <div
      className={classes.rule}
      data-nearest={isNearest || undefined}
      data-matched={result === 'matched' || undefined}
    >
      <Group gap="xs">
        <span className={classes.number}>Rule {rule + 1}</span>
        <EffectBadge effect={effect} />
        <span className={result === 'matched' ? undefined : 'quiet'}>{RESULTS[result]}</span>
        {isNearest && (
          <span style={{ marginLeft: 'auto' }}>
            <Badge tone="review">nearest miss</Badge>
          </span>
        )}
      </Group>
      <FailedConditions {...conditions} />
      <HeldConditions {...conditions} />
    </div>
  )
}

interface RuleProps {
  readonly rule: RuleExplanation
  readonly isNearest: boolean
}

const RESULTS: Readonly<Record<RuleExplanation['result'], string>> = {
  matched: 'matches',
  action: 'is for other actions',
  resource: 'is for other resources',
  condition: 'does not match',
  unknown: 'cannot be told',
  not_reached: 'not reached',
}

function isQuiet(result: RuleExplanation['result']): boolean {
  return result === 'not_reached' || result === 'action'
}

function tookNoPart({ decided, agents, result, rules }: PolicyExplanation): boolean {
  if (decided) return false
  return (
    agents === 'no_match' ||
    result === 'disabled' ||
    result === 'not_reached' ||
    rules.every((rule) => isQuiet(rule.result))
  )
}

function foldedTitle(rules: readonly RuleExplanation[]): string {
  const unreached = rules.filter(({ result }) => result === 'not_reached').length
  const others = rules.length - unreached
  return [
    ...(others > 0 ? [`${counted(others, 'rule', 'rules')} for other actions`] : []),
    ...(unreached > 0 ? [`${counted(unreached, 'rule', 'rules')} not reached`] : []),
  ].join(', ')
}

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
