import type { DecisionExplanation } from '@countersign/contract'
import { Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { ExplanationView } from '../../components/explanation/explanation-view'
import { ErrorNotice } from '../../components/notice'
import { Loading } from '../../components/page'
import { Panel } from '../../components/panel'

/** Every policy and rule that was tried. `explanation` is null for a key that may not read policies. */
export function ExplanationPanel({
  explanation,
}: {
  readonly explanation: UseQueryResult<DecisionExplanation> | null
}) {
  return (
    <Panel title="Explanation" aside={<span className="quiet">As of the decision, not of today</span>}>
      {explanation === null ? (
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
