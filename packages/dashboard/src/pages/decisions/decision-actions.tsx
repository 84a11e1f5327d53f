import type { DecisionDetail, DecisionExplanation, ReasonCode } from '@countersign/contract'
import { Button, Group } from '@mantine/core'
import { BeakerIcon, PencilIcon } from '@primer/octicons-react'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { ApiError } from '../../api/client'
import { getPolicy } from '../../api/policies'
import { CopyButton } from '../../components/copy-button'
import { useMay } from '../../session'
import { curlOf } from './curl'

export interface DecisionActionsProps {
  readonly decision: DecisionDetail
  readonly nearestMiss: DecisionExplanation['nearest_miss']
}

/** What a user may do next about a decision. None of it changes the decision. */
export function DecisionActions({ decision, nearestMiss }: DecisionActionsProps) {
  const may = useMay()
  // An erased request cannot be repeated.
  if (decision.request_erased_at !== undefined) return null
  return (
    <Group gap="xs">
      {isByRules(decision) && may('policies:write') && (
        <WriteRule decision={decision} policyId={nearestMiss?.policy_id ?? null} />
      )}
      {may('policies:read') && (
        <Button
          variant="default"
          leftSection={<BeakerIcon size={16} />}
          renderRoot={(props) => <Link {...props} to="/simulator" search={{ for: decision.id }} />}
        >
          Open in the simulator
        </Button>
      )}
      <CopyButton text={curlOf(decision, window.location.origin)} label="Copy as curl" size="sm" />
    </Group>
  )
}

/** No rule can change other reasons, such as a budget without room. */
const BY_RULES: readonly ReasonCode[] = ['rule_matched', 'no_matching_policy', 'condition_indeterminate']

function isByRules({ effect, reason_code }: DecisionDetail): boolean {
  return (effect === 'deny' || effect === 'review') && BY_RULES.includes(reason_code)
}

/** Opens a draft rule in the editor, in the nearest policy if it is still stored. The user saves it there. */
function WriteRule({ decision: { id, effect }, policyId }: WriteRuleProps) {
  const isStored = useQuery({
    queryKey: ['policies', policyId, 'is stored'],
    queryFn: () => isPolicyStored(policyId as string),
    enabled: policyId !== null,
  })
  const search = { for: id }
  return (
    <Button
      // The main action for a review is to answer it.
      variant={effect === 'deny' ? 'filled' : 'default'}
      leftSection={<PencilIcon size={16} />}
      renderRoot={(props) =>
        policyId !== null && isStored.data === true ? (
          <Link {...props} to="/policies/$id" params={{ id: policyId }} search={search} />
        ) : (
          <Link {...props} to="/policies/new" search={search} />
        )
      }
    >
      Draft a rule that would have allowed this
    </Button>
  )
}

interface WriteRuleProps {
  readonly decision: DecisionDetail
  readonly policyId: string | null
}

/** A policy may have been deleted since it decided. */
async function isPolicyStored(id: string): Promise<boolean> {
  try {
    await getPolicy(id)
    return true
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false
    throw error
  }
}
