/** Asks what would be answered if the draft were saved now. */
import { Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ErrorNotice, Notice } from '../../components/notice'
import { type RequestDraft, RequestForm } from '../../components/simulation/request-form'
import { SimulationView } from '../../components/simulation/simulation-view'
import { NEW_ID, simulateDraft } from './simulate-draft'

export interface TryItProps {
  /** The draft, as it is written. */
  readonly text: string
  /** Of the stored policy that the draft is to replace; null for a new one. */
  readonly policyId: string | null
  readonly request: RequestDraft
  readonly onChange: (request: RequestDraft) => void
  /** Why the draft cannot be tried now. */
  readonly obstacle: string | null
}

export function TryIt({ text, policyId, request, onChange, obstacle }: TryItProps) {
  const client = useQueryClient()
  const run = useMutation({
    mutationFn: (asked: Pick<TryItProps, 'text' | 'request'>) => simulateDraft(client, { ...asked, policyId }),
  })
  const asked = run.variables
  const isOld = asked !== undefined && (asked.text !== text || asked.request !== request)
  return (
    <Stack gap="md">
      <RequestForm
        request={request}
        onChange={onChange}
        onSubmit={() => run.mutate({ text, request })}
        submit="Try the draft"
        isBusy={run.isPending}
        obstacle={obstacle}
        error={isOld ? null : run.error}
      />
      {run.isError && <ErrorNotice error={run.error} title="The draft was not tried" />}
      {run.data !== undefined && isOld && (
        <Notice kind="info">The answer is of what stood here before. Try again.</Notice>
      )}
      {run.data !== undefined && <SimulationView answer={run.data} draftId={policyId ?? NEW_ID} />}
    </Stack>
  )
}
