import type { DecisionDetail } from '@countersign/contract'
import { Anchor, Grid, Group, Stack } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { decisionAuditQuery } from '../../api/audit'
import { ApiError } from '../../api/client'
import { getDecision } from '../../api/decisions'
import { EffectBadge, StatusBadge } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { ErrorNotice, Notice } from '../../components/notice'
import { AgentLink, KeyLink } from '../../components/object-links'
import { Empty, Loading, Page } from '../../components/page'
import { Ago, At } from '../../components/time'
import { useMay } from '../../session'
import { AnswerPanel, type PolicyNames } from './answer-panel'
import { AuditPanel } from './audit-panel'
import { BudgetsPanel } from './budgets-panel'
import { DecisionActions } from './decision-actions'
import classes from './decision-page.module.css'
import { ExplanationPanel } from './explanation-panel'
import { explanationQuery } from './explanation-query'
import { OutcomePanel } from './outcome-panel'
import { PermitPanel } from './permit-panel'
import { RequestPanel } from './request-panel'
import { ReviewPanel } from './review-panel'

const route = getRouteApi('/signed-in/decisions/$id')

/** One decision: its request, result, reasons and outcome, updated live. */
export function DecisionPage() {
  const { id } = route.useParams()
  const may = useMay()
  const mayRead = may('decisions:read')
  const decision = useQuery({
    queryKey: ['decision', id],
    queryFn: () => getDecision(id),
    enabled: mayRead,
    refetchInterval: ({ state: { data } }) => (data === undefined ? false : msToEnd(data)),
  })
  const mayExplain = mayRead && may('policies:read')
  const isErased = decision.data?.request_erased_at !== undefined
  const explanation = useQuery({ ...explanationQuery(id), enabled: mayExplain && decision.isSuccess && !isErased })
  if (decision.data === undefined)
    return (
      <Page title="Decision" scopes={['decisions:read']}>
        {decision.isPending ? (
          <Loading what="the decision" />
        ) : isNotFound(decision.error) ? (
          <NotFound id={id} />
        ) : (
          <ErrorNotice error={decision.error} retry={decision.refetch} />
        )}
      </Page>
    )
  const { data } = decision
  const explained = isErased ? undefined : explanation.data
  const names: PolicyNames = new Map(explained?.policies.map(({ policy_id, name }) => [policy_id, name]))
  return (
    <Page
      title={`Decision on ${data.action}`}
      lead={<p className={classes.why}>{visibleText(explained?.summary ?? data.reason ?? 'A rule allows it.')}</p>}
      scopes={['decisions:read']}
    >
      <Stack gap="md">
        <Standing decision={data} />
        <DecisionActions decision={data} nearestMiss={explained?.nearest_miss ?? null} />
        {decision.isError && <ErrorNotice error={decision.error} retry={decision.refetch} />}
        <Grid gap="md">
          <Grid.Col span={{ base: 12, md: 7 }}>
            <Stack gap="md">
              <ExplanationPanel explanation={mayExplain ? explanation : null} isErased={isErased} />
              <RequestPanel decision={data} />
              <AnswerPanel decision={data} names={names} />
            </Stack>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 5 }}>
            <Stack gap="md">
              <ReviewPanel decision={data} names={names} />
              <OutcomePanel decision={data} />
              <PermitPanel decision={data} />
              <BudgetsPanel decision={data} names={names} />
            </Stack>
          </Grid.Col>
        </Grid>
        <AuditPanel id={id} decision={data} />
      </Stack>
    </Page>
  )
}

function Standing({
  decision: { effect, status, evaluated_at, agent_id, key_id },
}: {
  readonly decision: DecisionDetail
}) {
  return (
    <Group gap="xs">
      <EffectBadge effect={effect} />
      <StatusBadge status={status} />
      <div style={{ overflowWrap: 'anywhere', minWidth: 0 }}>
        <At at={evaluated_at} /> <span className="quiet">(</span>
        <Ago at={evaluated_at} />
        <span className="quiet">), requested by </span>
        <AgentLink id={agent_id} />
        <span className="quiet"> with the API key </span>
        <KeyLink id={key_id} />
      </div>
    </Group>
  )
}

function NotFound({ id }: { readonly id: string }) {
  const audit = useQuery({ ...decisionAuditQuery(id), enabled: useMay()('audit:read') })
  if (audit.data !== undefined && audit.data.length > 0) return <Gone id={id} />
  return (
    <Empty title={`Decision ${visibleText(id)} not found`}>
      <div>It never existed, it is no longer kept, or your key cannot see its agent.</div>
      <Anchor renderRoot={(props) => <Link {...props} to="/decisions" />}>See all decisions</Anchor>
    </Empty>
  )
}

/** The audit log keeps entries after the store has lost the record. */
function Gone({ id }: { readonly id: string }) {
  return (
    <Stack gap="md">
      <Notice kind="warning" title={`The store has no record of ${visibleText(id)}, but the audit log does`}>
        If a retention period is set, the server may have removed it: the log then has an entry{' '}
        <code>decisions.removed</code>. Otherwise the record was deleted by hand.{' '}
        <code>countersign audit verify --records</code> tells you which.
      </Notice>
      <AuditPanel id={id} decision={null} />
    </Stack>
  )
}

function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.status === 404
}

const OPEN: readonly DecisionDetail['status'][] = ['authorized', 'awaiting_review', 'approved']
const LONGEST_MS = 3_600_000

/** An open decision expires by the clock, and the event for it may come late. */
function msToEnd({ status, expires_at }: DecisionDetail): number | false {
  if (!OPEN.includes(status)) return false
  return Math.min(LONGEST_MS, Math.max(1_000, Date.parse(expires_at) - Date.now() + 500))
}
