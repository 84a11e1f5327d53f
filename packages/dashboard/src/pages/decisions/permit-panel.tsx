import type { DecisionDetail } from '@countersign/contract'
import { Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { decisionAuditQuery } from '../../api/audit'
import { wordsOf } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { Facts, Panel } from '../../components/panel'
import { Ago, useNow } from '../../components/time'
import { useMay } from '../../session'
import { permitClaims } from './permit-claims'

/** What the permit says. The permit itself is shown to nobody but the key that asked. */
export function PermitPanel({ decision }: { readonly decision: DecisionDetail }) {
  const may = useMay()
  const audit = useQuery({ ...decisionAuditQuery(decision.id), enabled: may('audit:read') })
  const claims = permitClaims(decision, audit.data ?? null)
  const isErased = decision.request_erased_at !== undefined
  return (
    <Panel title="Permit claims">
      {claims === null ? (
        <Text className="quiet">{withoutPermit(decision)}</Text>
      ) : (
        <Stack gap="sm">
          <InForce decision={decision} />
          <Facts
            facts={claims.map(([name, meaning, value]) => [
              `${meaning} (${name})`,
              <code key={name}>{visibleText(value)}</code>,
            ])}
          />
          <Text size="sm" className="quiet">
            {isErased &&
              'The request was erased, so no permit is made any more. One that was handed out before also names its resource and request hash. '}
            {decision.budgets.some(({ reserved }) => reserved) &&
              'The permit also names the amount of its budget, when the budget reads one. '}
            The permit itself goes to the API key that asked, and is not shown here.
          </Text>
        </Stack>
      )}
    </Panel>
  )
}

/** A check that stays offline sees the end of the permit, and not what became of its decision. */
function InForce({ decision: { status, expires_at } }: { readonly decision: DecisionDetail }) {
  const isOver = Date.parse(expires_at) <= useNow()
  if (isOver)
    return (
      <Text>
        Its time was over <Ago at={expires_at} />.
      </Text>
    )
  return (
    <Text>
      {status === 'authorized'
        ? 'In force. It ends '
        : `The decision is ${wordsOf(status)}, so the permit is of no use here. A check that stays offline takes it until it ends `}
      <Ago at={expires_at} />.
    </Text>
  )
}

function withoutPermit({ effect, status, request_erased_at }: DecisionDetail): string {
  if (effect === 'deny') return 'A denied decision has no permit.'
  if (request_erased_at !== undefined) return 'No permit is made any more: the request was erased.'
  if (status === 'awaiting_review') return 'There is no permit before a person has approved.'
  if (status === 'approved') return 'There is no permit until the key that asked claims the decision.'
  return 'No permit is known: the decision ended before it was claimed, as far as this page can tell.'
}
