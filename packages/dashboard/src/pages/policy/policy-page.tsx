import type { DecisionDetail, Policy } from '@countersign/contract'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { ApiError } from '../../api/client'
import { getDecision } from '../../api/decisions'
import { getPolicy } from '../../api/policies'
import { ErrorNotice, Notice } from '../../components/notice'
import { Loading, Page } from '../../components/page'
import { requestOf } from '../../components/simulation/request-form'
import { useMay } from '../../session'
import { isSamePolicy, placeOfRule, policyWithRuleFor } from './draft-from-decision'
import { DraftNotice } from './draft-notice'
import { NoDraft } from './no-draft'
import { PolicyWorkbench } from './policy-workbench'
import { Revisions } from './revisions'
import { simulateDraft } from './simulate-draft'

const route = getRouteApi('/signed-in/policies/$id')

/** One policy, to read, edit, test and save. */
export function PolicyPage() {
  const { id } = route.useParams()
  const { for: decisionId } = route.useSearch()
  const may = useMay()
  const enabled = may('policies:read')
  const policy = useQuery({ queryKey: ['policies', id], queryFn: () => getPolicy(id), enabled })
  if (policy.data !== undefined)
    return decisionId === undefined ? (
      <StoredPolicy key={id} policy={policy.data} />
    ) : (
      <PolicyForDecision key={`${id} ${decisionId}`} policy={policy.data} decisionId={decisionId} />
    )
  if (policy.error instanceof ApiError && policy.error.status === 404) return <DeletedPolicy id={id} />
  return (
    <Page title="Policy" scopes={['policies:read']}>
      {policy.isError ? <ErrorNotice error={policy.error} retry={policy.refetch} /> : <Loading what="the policy" />}
    </Page>
  )
}

function StoredPolicy({ policy }: { readonly policy: Policy }) {
  const { tab } = route.useSearch()
  const navigate = route.useNavigate()
  return (
    <PolicyWorkbench
      policy={policy}
      tab={tab}
      onTab={(next) => void navigate({ search: next === 'edit' ? {} : { tab: next }, replace: true })}
    />
  )
}

function PolicyForDecision({ policy, decisionId }: { readonly policy: Policy; readonly decisionId: string }) {
  const decision = useQuery({
    queryKey: ['decision', decisionId],
    queryFn: () => getDecision(decisionId),
    enabled: useMay()('decisions:read'),
  })
  if (decision.data === undefined)
    return (
      <Page title="Policy" scopes={['policies:read', 'decisions:read']}>
        {decision.isError ? (
          <ErrorNotice error={decision.error} retry={decision.refetch} />
        ) : (
          <Loading what="the decision" />
        )}
      </Page>
    )
  if (decision.data.request_erased_at !== undefined) return <NoDraft title={policy.name} decisionId={decisionId} />
  return <DraftedRule policy={policy} decision={decision.data} />
}

function DraftedRule({ policy, decision }: { readonly policy: Policy; readonly decision: DecisionDetail }) {
  const { tab } = route.useSearch()
  const navigate = route.useNavigate()
  const client = useQueryClient()
  // Drafted once, so that the text does not change while the user edits it.
  const [draft] = useState(() => ({
    text: policyWithRuleFor(policy, decision),
    request: requestOf(decision),
    place: placeOfRule(policy, decision),
    hasChanged: !isSamePolicy(policy, decision),
  }))
  const { text, request, place, hasChanged } = draft
  const answer = useQuery({
    queryKey: ['draft', decision.id, policy.id],
    queryFn: () => simulateDraft(client, { text, policyId: policy.id, request }),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
  })
  return (
    <PolicyWorkbench
      policy={policy}
      start={text}
      request={request}
      place={`/rules/${place}`}
      notice={
        <DraftNotice decisionId={decision.id} place={place} hasChanged={hasChanged} answer={answer.data ?? null} />
      }
      tab={tab}
      onTab={(next) =>
        void navigate({ search: { for: decision.id, ...(next !== 'edit' && { tab: next }) }, replace: true })
      }
    />
  )
}

function DeletedPolicy({ id }: { readonly id: string }) {
  const navigate = useNavigate()
  return (
    <Page title="Deleted policy" lead={<span className="mono">{id}</span>} scopes={['policies:read']}>
      <Notice kind="info">This policy was deleted or never existed. It has no effect.</Notice>
      <Revisions
        policyId={id}
        present={null}
        restore="Create it again"
        onRestore={({ revision }) =>
          void navigate({ to: '/policies/new', search: { copy: id, revision: String(revision) } })
        }
      />
    </Page>
  )
}
