import type { AuditEntry } from '@countersign/contract'
import { Anchor, Table, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { decisionAuditQuery } from '../../api/audit'
import { ErrorNotice } from '../../components/notice'
import { KeyLink } from '../../components/object-links'
import { Loading } from '../../components/page'
import { Panel } from '../../components/panel'
import { At } from '../../components/time'
import { useMay } from '../../session'

/** Where the decision is in the audit log: one entry for each thing that happened to it. */
export function AuditPanel({ id }: { readonly id: string }) {
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
        <Text className="quiet">Your key lacks the scope audit:read, which shows the entries of the audit log.</Text>
      ) : audit.data !== undefined ? (
        <Entries entries={audit.data} />
      ) : audit.isError ? (
        <ErrorNotice error={audit.error} retry={audit.refetch} />
      ) : (
        <Loading what="the entries" />
      )}
    </Panel>
  )
}

function Entries({ entries }: { readonly entries: readonly AuditEntry[] }) {
  return (
    <Table.ScrollContainer
      minWidth={840}
      type="native"
      tabIndex={0}
      role="region"
      aria-label="Entries of the audit log"
    >
      <Table>
        <Table.Thead>
          <Table.Tr>
            {['What', 'When', 'Who', 'Log and index', 'Leaf'].map((title) => (
              <Table.Th key={title}>{title}</Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {entries.map(({ id, type, at, actor, log, index, leaf }) => (
            <Table.Tr key={id}>
              <Table.Td>{type}</Table.Td>
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
