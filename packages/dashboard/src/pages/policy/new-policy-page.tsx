import type { Scope } from '@countersign/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { getDecision } from '../../api/decisions'
import { listRevisions } from '../../api/policies'
import { ErrorNotice } from '../../components/notice'
import { Loading, Page } from '../../components/page'
import { requestOf } from '../../components/simulation/request-form'
import { useMay } from '../../session'
import { draftNewPolicy } from './draft-from-decision'
import { DraftNotice } from './draft-notice'
import { NoDraft } from './no-draft'
import { policyText } from './policy-text'
import { PolicyWorkbench } from './policy-workbench'
import { simulateDraft } from './simulate-draft'

const route = getRouteApi('/signed-in/policies/new')

const DECISIONS: readonly Scope[] = ['decisions:read']

/** A new policy: empty, drafted for a decision, or copied from another policy. */
export function NewPolicyPage() {
  const { for: decisionId, copy, revision } = route.useSearch()
  const may = useMay()
  const scopes: Scope[] = ['policies:read', 'policies:write', ...(decisionId === undefined ? [] : DECISIONS)]
  if (!scopes.every(may))
    return (
      <Page title="New policy" scopes={scopes}>
        {null}
      </Page>
    )
  if (decisionId !== undefined) return <ForDecision key={decisionId} id={decisionId} />
  if (copy !== undefined) return <CopyOf key={copy} id={copy} revision={revision} />
  return <PolicyWorkbench policy={null} />
}

function ForDecision({ id }: { readonly id: string }) {
  const client = useQueryClient()
  // Drafted once, so that the text does not change while the user edits it.
  const { data, error, refetch } = useQuery({
    queryKey: ['draft', id],
    queryFn: async () => {
      const decision = await getDecision(id)
      if (decision.request_erased_at !== undefined) return null
      const request = requestOf(decision)
      const ask = (text: string) => simulateDraft(client, { text, policyId: null, request }).catch(() => null)
      return { request, ...(await draftNewPolicy(decision, ask)) }
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  if (data === undefined) return <Waiting what="the decision" error={error} retry={refetch} />
  if (data === null) return <NoDraft title="New policy" decisionId={id} />
  const { text, request, answer, above } = data
  return (
    <PolicyWorkbench
      policy={null}
      start={text}
      request={request}
      notice={<DraftNotice decisionId={id} place={null} answer={answer} above={above} />}
    />
  )
}

/** Copies a revision. The policy itself may be deleted. */
function CopyOf({ id, revision }: { readonly id: string; readonly revision: string | undefined }) {
  const { data, error, refetch } = useQuery({
    queryKey: ['policies', id, 'revisions'],
    queryFn: ({ signal }) => listRevisions(id, signal),
  })
  const source = data?.find((one) => revision === undefined || String(one.revision) === revision)
  if (source === undefined) return <Waiting what="the policy" error={error} retry={refetch} />
  return <PolicyWorkbench policy={null} start={policyText(source)} />
}

interface WaitingProps {
  readonly what: string
  readonly error: unknown
  readonly retry: () => unknown
}

function Waiting({ what, error, retry }: WaitingProps) {
  return (
    <Page title="New policy">
      {error === null ? <Loading what={what} /> : <ErrorNotice error={error} retry={retry} />}
    </Page>
  )
}
