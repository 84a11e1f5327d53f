import type { AuditEntry, DecisionDetail } from '@countersign/contract'
import { Anchor, Button, Stack, Table, Text } from '@mantine/core'
import { ShieldCheckIcon } from '@primer/octicons-react'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { decisionAuditQuery } from '../../api/audit'
import { Badge } from '../../components/badges'
import { visibleText } from '../../components/invisible'
import { ErrorNotice, Notice } from '../../components/notice'
import { KeyLink } from '../../components/object-links'
import { Loading } from '../../components/page'
import { Panel } from '../../components/panel'
import { At } from '../../components/time'
import { useMay } from '../../session'
import type { Verdict } from '../../verifier/verify-entries'
import { verifyDecision } from './verification'
import { VerificationNotice } from './verification-notice'

/** The audit entries of a decision, with a button that verifies their proofs. */
export function AuditPanel({ id, decision }: Pick<VerifiableProps, 'id' | 'decision'>) {
  const mayRead = useMay()('audit:read')
  const audit = useQuery({ ...decisionAuditQuery(id), enabled: mayRead })
  return (
    <Panel
      title="Audit position"
      aside={
        mayRead && (
          <Anchor renderRoot={(props) => <Link {...props} to="/audit" search={{ decision_id: id }} />}>
            In the audit log
          </Anchor>
        )
      }
    >
      {!mayRead ? (
        <Text className="quiet">
          Your key is missing the scope audit:read, which is required to see audit log entries.
        </Text>
      ) : audit.data !== undefined ? (
        <Verifiable id={id} decision={decision} entries={audit.data} />
      ) : audit.isError ? (
        <ErrorNotice error={audit.error} retry={audit.refetch} />
      ) : (
        <Loading what="the entries" />
      )}
    </Panel>
  )
}

interface VerifiableProps {
  readonly id: string
  /** Null when the store has no record of the decision. */
  readonly decision: DecisionDetail | null
  readonly entries: readonly AuditEntry[]
}

/** Shows a verdict only beside exactly what was verified. Any change removes it. */
function Verifiable({ id, decision, entries }: VerifiableProps) {
  const run = useMutation({ mutationFn: () => verifyDecision(id, decision, entries) })
  const ofThese = run.data?.decision === decision && run.data.entries === entries ? run.data : null
  return (
    <Stack gap="sm">
      <Button
        variant="default"
        style={{ alignSelf: 'flex-start' }}
        leftSection={<ShieldCheckIcon size={16} />}
        loading={run.isPending}
        onClick={() => run.mutate()}
      >
        Verify in this browser
      </Button>
      {run.isError && <ErrorNotice error={run.error} title="The verification failed" />}
      {run.data !== undefined &&
        (ofThese !== null ? (
          <VerificationNotice verification={ofThese} />
        ) : (
          <Notice kind="info">The decision has changed since you verified it. Verify it again.</Notice>
        ))}
      <Entries entries={entries} verdicts={ofThese?.verdicts ?? null} />
    </Stack>
  )
}

interface EntriesProps {
  readonly entries: readonly AuditEntry[]
  /** One for each entry; null before the verification. */
  readonly verdicts: readonly Verdict[] | null
}

function Entries({ entries, verdicts }: EntriesProps) {
  const titles = ['What', ...(verdicts === null ? [] : ['Proof']), 'When', 'Actor', 'Log and index', 'Leaf']
  return (
    <Table.ScrollContainer
      minWidth={verdicts === null ? 840 : 1000}
      type="native"
      tabIndex={0}
      role="region"
      aria-label="Entries of the audit log"
    >
      <Table>
        <Table.Thead>
          <Table.Tr>
            {titles.map((title) => (
              <Table.Th key={title}>{title}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entries.map(({ id, type, at, actor, log, index, leaf }, place) => (
            <Table.Tr key={id}>
              <Table.Td>{type}</Table.Td>
              {verdicts !== null && <Proof verdict={verdicts[place] as Verdict} />}
              <Table.Td>
                <At at={at} />
              </Table.Td>
              <Table.Td style={{ whiteSpace: 'nowrap' }}>
                {actor === null ? 'the server' : <KeyLink id={actor} />}
              </Table.Td>
              <Table.Td>
                <code>{log}</code>, {index}
              </Table.Td>
              <Table.Td>
                <code>{leaf}</code>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  )
}

function Proof({ verdict }: { readonly verdict: Verdict }) {
  return (
    <Table.Td miw={160}>
      {verdict.isProved ? <Badge tone="allow">proved</Badge> : <Badge tone="deny">not proved</Badge>}
      {!verdict.isProved && <Text size="sm">{visibleText(verdict.why)}</Text>}
    </Table.Td>
  )
}
