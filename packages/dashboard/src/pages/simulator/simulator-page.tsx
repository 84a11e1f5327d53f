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

/** Simulates a request with the stored policies. */
export function SimulatorPage() {
  const { for: decisionId } = route.useSearch()
  return (
    <Page
      title="Simulator"
      lead="Test a request against the stored policies. Nothing is stored, and no permit is issued."
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
            The request of <DecisionLink id={id} />. It was decided by the policies of that time; the simulator uses the
            current ones.
          </>
        ) : (
          <>
            The request of <DecisionLink id={id} /> was erased. Only its agent and action are known.
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
      <Panel title="Result" aside={isOld && run.data && <Text className="quiet">of the previous request</Text>}>
        {run.isError && <ErrorNotice error={run.error} title="The simulation failed" />}
        {run.data !== undefined && <SimulationView answer={run.data} />}
        {run.isIdle && <Empty title="No result yet">Enter a request and press Simulate.</Empty>}
      </Panel>
    </div>
  )
}
