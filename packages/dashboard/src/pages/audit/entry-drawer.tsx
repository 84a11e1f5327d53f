import type { AuditEntry } from '@countersign/contract'
import { Stack } from '@mantine/core'
import { JsonView } from '../../components/json/json-view'
import { AgentLink, KeyLink } from '../../components/object-links'
import { Facts } from '../../components/panel'
import { SidePanel } from '../../components/side-panel'
import { At } from '../../components/time'
import { SubjectLink } from './subject-link'

export interface EntryDrawerProps {
  /** Null for none. */
  readonly entry: AuditEntry | null
  readonly onClose: () => void
}

/** All of one entry. */
export function EntryDrawer({ entry, onClose }: EntryDrawerProps) {
  return (
    <SidePanel title={entry?.type ?? ''} isOpen={entry !== null} onClose={onClose}>
      {entry !== null && <Entry entry={entry} />}
    </SidePanel>
  )
}

function Entry({
  entry: { id, at, actor, subject, agent_id, log, index, leaf, data },
}: {
  readonly entry: AuditEntry
}) {
  return (
    <Stack gap="sm">
      <Facts
        facts={[
          ['When', <At key="at" at={at} />],
          ['About', <SubjectLink key="subject" id={subject} agentId={agent_id} />],
          ['Agent', agent_id === null || agent_id === subject ? null : <AgentLink key="agent" id={agent_id} />],
          ['Who', actor === null ? 'the server' : <KeyLink key="actor" id={actor} />],
          ['Log', <code key="log">{log}</code>],
          ['Index', index],
          ['Leaf', <code key="leaf">{leaf}</code>],
          ['Entry', <code key="id">{id}</code>],
        ]}
      />
      <JsonView value={data} label="Data" />
    </Stack>
  )
}
