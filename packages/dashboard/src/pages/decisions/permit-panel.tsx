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

/** The claims of the permit. Only the requesting key gets the permit itself. */
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
              'The request was erased, so no more permits are issued. A permit issued earlier also contains the resource and request hash. '}
            {decision.budgets.some(({ reserved }) => reserved) &&
              'If its budget reads an amount, the permit also contains that amount. '}
            The permit itself is returned to the requesting API key and is not shown here.
          </Text>
        </Stack>
      )}
    </Panel>
  )
}

/** An offline check sees when the permit expires, but not what happened to its decision. */
function InForce({ decision: { status, expires_at } }: { readonly decision: DecisionDetail }) {
  const isOver = Date.parse(expires_at) <= useNow()
  if (isOver)
    return (
      <Text>
        It expired <Ago at={expires_at} />.
      </Text>
    )
  return (
    <Text>
      {status === 'authorized'
        ? 'Valid. It expires '
        : `The decision is ${wordsOf(status)}, so the permit cannot be used. An offline check accepts it until it expires `}
      <Ago at={expires_at} />.
    </Text>
  )
}

function withoutPermit({ effect, status, request_erased_at }: DecisionDetail): string {
  if (effect === 'deny') return 'A denied decision has no permit.'
  if (request_erased_at !== undefined) return 'No more permits are issued: the request was erased.'
  if (status === 'awaiting_review') return 'There is no permit until a reviewer approves.'
  if (status === 'approved') return 'There is no permit until the requesting key claims the decision.'
  return 'No known permit: it appears that the decision ended before it was claimed.'
}
