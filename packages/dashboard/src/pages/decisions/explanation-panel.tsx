import type { DecisionExplanation } from '@countersign/contract'
import { Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { ExplanationView } from '../../components/explanation/explanation-view'
import { ErrorNotice } from '../../components/notice'
import { Loading } from '../../components/page'
import { Panel } from '../../components/panel'

export interface ExplanationPanelProps {
  /** Null for a key that may not read policies. */
  readonly explanation: UseQueryResult<DecisionExplanation> | null
  /** Whether the request was erased: it takes its explanation with it. */
  readonly isErased: boolean
}

/** Every policy and rule that was tried. */
export function ExplanationPanel({ explanation, isErased }: ExplanationPanelProps) {
  return (
    <Panel title="Explanation" aside={<span className="quiet">As of the decision, not of today</span>}>
      {isErased ? (
        <Text className="quiet">There is none any more: the request was erased, and its explanation with it.</Text>
      ) : explanation === null ? (
        <Text className="quiet">Your key lacks the scope policies:read, which shows the policies and rules tried.</Text>
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
