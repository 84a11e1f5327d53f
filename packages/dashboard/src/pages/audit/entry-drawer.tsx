import type { AuditEntry } from '@countersign/contract'
import { Anchor, Stack } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { visibleText } from '../../components/invisible'
import { JsonView } from '../../components/json/json-view'
import { AgentLink, DecisionLink, KeyLink, PolicyLink } from '../../components/object-links'
import { Facts } from '../../components/panel'
import { SidePanel } from '../../components/side-panel'
import { At } from '../../components/time'

export interface EntryDrawerProps {
  /** Null while the drawer is closed. */
  readonly entry: AuditEntry | null
  readonly onClose: () => void
}

/** Every field of one entry. */
export function EntryDrawer({ entry, onClose }: EntryDrawerProps) {
  return (
    <SidePanel title={entry?.type ?? ''} isOpen={entry !== null} onClose={onClose}>
      {entry !== null && <Entry entry={entry} />}
    </SidePanel>
  )
}

function Entry({
  entry: { id, at, actor, subject, agent_id, trace_id = null, log, index, leaf, data },
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
          ['Actor', actor === null ? 'the server' : <KeyLink key="actor" id={actor} />],
          ['Trace', trace_id === null ? null : <code key="trace">{trace_id}</code>],
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

/** Links to the subject of an entry. The prefix of the id tells its kind; agent ids have no prefix. */
function SubjectLink({ id, agentId }: { readonly id: string; readonly agentId: string | null }) {
  if (id.startsWith('dec_')) return <DecisionLink id={id} />
  if (id.startsWith('pol_')) return <PolicyLink id={id} />
  if (id.startsWith('key_')) return <KeyLink id={id} />
  if (id.startsWith('whk_'))
    return (
      <Anchor className="mono" inherit renderRoot={(props) => <Link {...props} to="/webhooks/$id" params={{ id }} />}>
        {id}
      </Anchor>
    )
  if (id === agentId) return <AgentLink id={id} />
  return <code>{visibleText(id)}</code>
}
