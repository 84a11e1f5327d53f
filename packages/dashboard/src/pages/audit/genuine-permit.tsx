import type { AuditEntry, DecisionDetail, PermitClaims } from '@countersign/contract'
import { Button, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { decisionAuditQuery } from '../../api/audit'
import { ApiError } from '../../api/client'
import { getDecision } from '../../api/decisions'
import { amountText } from '../../components/amount'
import { StatusBadge, wordsOf } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { Notice } from '../../components/notice'
import { AgentLink, DecisionLink, KeyLink, PolicyLink } from '../../components/object-links'
import { Facts } from '../../components/panel'
import { At } from '../../components/time'
import { useMay } from '../../session'
import { differencesOf } from './permit-comparison'
import type { PermitCheck } from './verify-permit'

export interface GenuinePermitProps {
  readonly claims: PermitClaims
  readonly time: Extract<PermitCheck, { result: 'genuine' }>['time']
}

/** The claims of a permit that this server signed, and the current state of its decision. */
export function GenuinePermit({ claims, time }: GenuinePermitProps) {
  const mayRead = useMay()('decisions:read')
  const { jti } = claims
  // The cache of another page may be old, so the decision is read again for each permit.
  const decision = useQuery({
    queryKey: ['decision', jti, 'of a permit'],
    queryFn: () => getDecision(jti),
    enabled: mayRead,
    gcTime: 0,
  })
  const entries = useQuery({ ...decisionAuditQuery(jti), queryKey: ['decision', jti, 'audit of a permit'], gcTime: 0 })
  const read = [decision, entries]
  const known = { decision: decision.data ?? null, entries: entries.data ?? null }
  return (
    <Stack gap="md">
      <Verdict
        claims={claims}
        time={time}
        {...known}
        comparison={!mayRead || read.some(({ isError }) => isError) ? 'none' : isRead(known) ? 'done' : 'under way'}
        why={
          mayRead ? (
            read.map(
              ({ error, refetch }, index) =>
                error !== null && (
                  <NotRead key={index === 0 ? 'decision' : 'entries'} error={error} retry={() => void refetch()} />
                ),
            )
          ) : (
            <Text size="sm">Your key is missing the scope decisions:read.</Text>
          )
        }
      />
      <Claims claims={claims} decision={known.decision} />
    </Stack>
  )
}

function isRead(known: Pick<VerdictProps, 'decision' | 'entries'>): boolean {
  return known.decision !== null && known.entries !== null
}

interface VerdictProps extends GenuinePermitProps {
  /** Null while unknown. */
  readonly decision: DecisionDetail | null
  readonly entries: readonly AuditEntry[] | null
  /** The state of the comparison of the permit with its decision and the audit log. */
  readonly comparison: 'done' | 'under way' | 'none'
  readonly why: ReactNode
}

/** Shows the most important finding. A signature says nothing about what happened after it. */
function Verdict({ claims, time, decision, entries, comparison, why }: VerdictProps) {
  const differences = decision === null ? [] : differencesOf(claims, decision, entries)
  const redeemed = entries?.find(({ type }) => type === 'decision.redeemed')
  if (differences.length > 0)
    return (
      <Notice kind="error" title="Genuine, but it differs from its decision">
        <Text size="sm">
          This server signed the permit, but the permit and the stored decision differ in: {differences.join(', ')}. Do
          not act on it.
        </Text>
      </Notice>
    )
  if (time === 'over')
    return (
      <Notice kind="warning" title="Genuine, but expired">
        <Text size="sm">
          It expired at <At at={timeOf(claims.exp)} />. Do not act on it.
        </Text>
      </Notice>
    )
  if (time === 'not begun')
    return (
      <Notice kind="warning" title="Genuine, but not valid yet">
        <Text size="sm">
          It was signed at <At at={timeOf(claims.iat)} /> by the server’s clock. The clock of this machine is slow.
        </Text>
      </Notice>
    )
  if (redeemed !== undefined)
    return (
      <Notice kind="warning" title="Genuine, but used up">
        <Text size="sm">
          It was redeemed at <At at={redeemed.at} />
          {redeemed.actor !== null && (
            <>
              {' '}
              with the key <KeyLink id={redeemed.actor} />
            </>
          )}
          .
        </Text>
      </Notice>
    )
  if (decision !== null && decision.status !== 'authorized')
    return (
      <Notice kind="warning" title={`Genuine, but the decision is ${wordsOf(decision.status)}`}>
        <Text size="sm">An offline check still accepts it. Do not act on it.</Text>
      </Notice>
    )
  if (comparison === 'under way')
    return (
      <Notice kind="info" title="Signature and time are valid">
        <Text size="sm">Comparing it with its decision …</Text>
      </Notice>
    )
  if (comparison === 'none')
    return (
      <Notice kind="warning" title="Signature and time are valid. It was not compared with its decision.">
        {why}
      </Notice>
    )
  return (
    <Notice kind="success" title="Genuine and valid">
      <Text size="sm">
        It expires at <At at={timeOf(claims.exp)} />. It matches the stored decision
        {decision?.request_erased_at === undefined
          ? '.'
          : ', except for the resource and request hash, which cannot be compared because the request was erased.'}
      </Text>
    </Notice>
  )
}

function NotRead({ error, retry }: { readonly error: unknown; readonly retry: () => void }) {
  if (error instanceof ApiError && error.status === 404)
    return <Text size="sm">Its decision is no longer in the store, or your key cannot see its agent.</Text>
  return (
    <>
      <Text size="sm">{error instanceof Error ? error.message : 'It could not be read.'}</Text>
      <Button size="xs" variant="default" onClick={retry}>
        Try again
      </Button>
    </>
  )
}

const BECAUSE: Readonly<Record<PermitClaims['effect'], string>> = {
  allow: 'a rule allows it',
  review: 'a person has approved it',
  log: 'a rule only records it',
}

function Claims({ claims, decision }: { readonly claims: PermitClaims; readonly decision: DecisionDetail | null }) {
  const { sub, action, resource, effect, amount, unit = '', iat, exp, jti, policy_id, policy_revision, audit } = claims
  return (
    <Facts
      facts={[
        ['Agent', <AgentLink key="sub" id={sub} />],
        ['May run', <code key="action">{visibleText(action)}</code>],
        ['On', resource === null ? 'no resource given' : <code key="resource">{visibleText(resource)}</code>],
        ['Amount', amount === undefined ? null : amountText(amount, visibleText(unit))],
        ['Reason', BECAUSE[effect]],
        ['Signed', <At key="iat" at={timeOf(iat)} />],
        ['Expires', <At key="exp" at={timeOf(exp)} />],
        ['Decision', <DecisionLink key="jti" id={jti} />],
        ['Current status', decision === null ? null : <StatusBadge key="status" status={decision.status} />],
        ['Policy', <PolicyLink key="policy" id={policy_id} />],
        ['Revision', policy_revision],
        ['Signed by', visibleText(claims.iss)],
        ['For', visibleText(claims.aud)],
        ['Request hash', <code key="hash">{claims.request_hash}</code>],
        ['Audit log', <code key="log">{visibleText(audit.log)}</code>],
        ['Index', audit.index],
        ['Leaf', <code key="leaf">{audit.leaf}</code>],
      ]}
    />
  )
}

/** Converts a claim in seconds. A time beyond the range of a date becomes the last possible one. */
function timeOf(seconds: number): string {
  return new Date(Math.min(seconds * 1000, 8.64e15)).toISOString()
}
