/** Decides a request as if the draft were saved now. */
import { Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { ErrorNotice, Notice } from '../../components/notice'
import { type RequestDraft, RequestForm } from '../../components/simulation/request-form'
import { SimulationView } from '../../components/simulation/simulation-view'
import { NEW_ID, simulateDraft } from './simulate-draft'

export interface TryItProps {
  /** The text of the draft. */
  readonly text: string
  /** The id of the stored policy that the draft replaces; null for a new one. */
  readonly policyId: string | null
  readonly request: RequestDraft
  readonly onChange: (request: RequestDraft) => void
  /** Why the draft cannot be tested now. */
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
        submit="Test the draft"
        isBusy={run.isPending}
        obstacle={obstacle}
        error={isOld ? null : run.error}
      />
      {run.isError && <ErrorNotice error={run.error} title="The draft could not be tested" />}
      {run.data !== undefined && isOld && (
        <Notice kind="info">This result is for an earlier version of the draft. Test it again.</Notice>
      )}
      {run.data !== undefined && <SimulationView answer={run.data} draftId={policyId ?? NEW_ID} />}
    </Stack>
  )
}
