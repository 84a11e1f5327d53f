import type { DecisionExplanation } from '@countersign/contract'
import { Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { ExplanationView } from '../../components/explanation/explanation-view'
import { ErrorNotice } from '../../components/notice'
import { Loading } from '../../components/page'
import { Panel } from '../../components/panel'

export interface ExplanationPanelProps {
  /** Null for a key that cannot read policies. */
  readonly explanation: UseQueryResult<DecisionExplanation> | null
  /** Whether the request was erased. The explanation is erased with it. */
  readonly isErased: boolean
}

/** Every policy and rule evaluated. */
export function ExplanationPanel({ explanation, isErased }: ExplanationPanelProps) {
  return (
    <Panel title="Explanation" aside={<span className="quiet">As of the decision, not of today</span>}>
      {isErased ? (
        <Text className="quiet">The explanation was erased together with the request.</Text>
      ) : explanation === null ? (
        <Text className="quiet">
          Your key is missing the scope policies:read, which is required to see the policies and rules evaluated.
        </Text>
      ) : explanation.data !== undefined ? (
        <ExplanationView explanation={explanation.data} />
      ) : explanation.isError ? (
        <ErrorNotice error={explanation.error} retry={explanation.refetch} />
      ) : (
        <Loading what="the explanation" />
      )}
    </Panel>
  )
}
