import { Text } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { getDecision } from '../../api/decisions'
import { simulate } from '../../api/policies'
import { ErrorNotice, Notice } from '../../components/notice'
import { DecisionLink } from '../../components/object-links'
import { Empty, Loading, Page } from '../../components/page'
import { Panel } from '../../components/panel'
import {
  EMPTY_REQUEST,
  type RequestDraft,
  RequestForm,
  requestOf,
  requestText,
} from '../../components/simulation/request-form'
import { SimulationView } from '../../components/simulation/simulation-view'
import classes from '../../components/simulation/simulator.module.css'

const route = getRouteApi('/signed-in/simulator')

/** What the stored policies would answer to a request. */
export function SimulatorPage() {
  const { for: decisionId } = route.useSearch()
  return (
    <Page
      title="Simulator"
      lead="Ask what the stored policies would answer. Nothing is stored, no permit is made."
      scopes={decisionId === undefined ? ['policies:read'] : ['policies:read', 'decisions:read']}
    >
      {decisionId === undefined ? <Simulator start={EMPTY_REQUEST} /> : <OfDecision key={decisionId} id={decisionId} />}
    </Page>
  )
}

function OfDecision({ id }: { readonly id: string }) {
  const decision = useQuery({ queryKey: ['decision', id], queryFn: () => getDecision(id) })
  if (decision.isPending) return <Loading what="the decision" />
  if (decision.isError) return <ErrorNotice error={decision.error} retry={decision.refetch} />
  return (
    <>
      <Notice kind="info">
        {decision.data.request_erased_at === undefined ? (
          <>
            The request of <DecisionLink id={id} />. It was answered by the policies of its time; here the current
            policies answer it.
          </>
        ) : (
          <>
            The request of <DecisionLink id={id} /> was erased. Only its agent and its action are known.
          </>
        )}
      </Notice>
      <Simulator start={requestOf(decision.data)} />
    </>
  )
}

function Simulator({ start }: { readonly start: RequestDraft }) {
  const [request, setRequest] = useState(start)
  const run = useMutation({ mutationFn: (asked: RequestDraft) => simulate(requestText(asked)) })
  const isOld = run.variables !== undefined && run.variables !== request
  return (
    <div className={classes.columns}>
      <Panel title="Request">
        <RequestForm
          request={request}
          onChange={setRequest}
          onSubmit={() => run.mutate(request)}
          submit="Simulate"
          isBusy={run.isPending}
          error={isOld ? null : run.error}
        />
      </Panel>
      <Panel title="Answer" aside={isOld && run.data && <Text className="quiet">of the request before</Text>}>
        {run.isError && <ErrorNotice error={run.error} title="The request was not tried" />}
        {run.data !== undefined && <SimulationView answer={run.data} />}
        {run.isIdle && <Empty title="No answer yet">Write a request and press Simulate.</Empty>}
      </Panel>
    </div>
  )
}
