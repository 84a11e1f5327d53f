import type { Agent } from '@countersign/contract'
import { Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { type FormEvent, useState } from 'react'
import { listAgents } from '../../api/agents'
import { usePages } from '../../api/use-pages'
import { DataTable } from '../../components/data-table'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading, Page } from '../../components/page'
import { Ago } from '../../components/time'
import { TwoLines } from '../../components/two-lines'
import { useMay } from '../../session'
import { isAgentId } from './agent-id'
import { AgentState } from './agent-state'
import { AGENT_LIST_KEY } from './changed-agent'
import { RegistrationDialog } from './registration-dialog'

const route = getRouteApi('/signed-in/agents')
const REFRESH_MS = 10_000

const COLUMNS: ColumnDef<Agent>[] = [
  {
    id: 'agent',
    header: 'Agent',
    size: 0,
    cell: ({ row: { original } }) => (
      <TwoLines
        first={
          <Anchor
            renderRoot={(props) => <Link {...props} to="/agents/$id" params={{ id: original.id }} data-row-link />}
          >
            {original.id}
          </Anchor>
        }
        second={original.name ?? ''}
      />
    ),
  },
  { id: 'state', header: 'State', size: 100, cell: ({ row }) => <AgentState agent={row.original} /> },
  {
    id: 'last',
    header: 'Last seen',
    size: 126,
    enableHiding: true,
    cell: ({ row }) => <Seen at={row.original.last_seen} />,
  },
  {
    id: 'first',
    header: 'First seen',
    size: 126,
    enableHiding: true,
    cell: ({ row }) => <Seen at={row.original.first_seen} />,
  },
]

/** Lists agents that were registered, seen or suspended. */
export function AgentsPage() {
  const may = useMay()
  const navigate = route.useNavigate()
  const [isRegistering, dialog] = useDisclosure()
  const [search, setSearch] = useState('')
  const list = usePages({ queryKey: AGENT_LIST_KEY, read: listAgents, scope: 'agents:read', refreshMs: REFRESH_MS })
  const wanted = search.trim().toLowerCase()
  const rows = list.rows.filter(({ id, name }) => `${id}\n${name ?? ''}`.toLowerCase().includes(wanted))
  const open = (id: string) => void navigate({ to: '/agents/$id', params: { id } })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isAgentId(search.trim())) open(search.trim())
  }
  return (
    <Page
      title="Agents"
      lead="Agents that request decisions. Registration is optional: it adds metadata that policies can read."
      scopes={['agents:read']}
      actions={may('agents:write') && <Button onClick={dialog.open}>Register an agent</Button>}
    >
      <RegistrationDialog opened={isRegistering} onClose={dialog.close} agent={null} onDone={({ id }) => open(id)} />
      {list.error !== null && <ErrorNotice error={list.error} retry={list.refetch} />}
      {list.isPending && <Loading what="agents" />}
      {!list.isPending && (list.error === null || list.rows.length > 0) && (
        <Stack gap="sm">
          <form onSubmit={submit}>
            <Group gap="xs" align="flex-end">
              <TextInput
                label="Find an agent"
                placeholder="agent:support-7"
                style={{ flex: '1 1 14rem', maxWidth: '28rem' }}
                value={search}
                onChange={(event) => setSearch(event.currentTarget.value)}
              />
              <Button type="submit" variant="default" disabled={!isAgentId(search.trim())}>
                Open this id
              </Button>
            </Group>
          </form>
          <Text size="sm" className="quiet" role="status">
            {wanted === ''
              ? 'Newest first. You can open any agent by its exact id, even one that has never been seen.'
              : `${rows.length} of ${list.rows.length} loaded agents. ${list.loadMore === null ? 'There are no more.' : 'Load more, or open an agent by its exact id.'}`}
          </Text>
          {list.rows.length === 0 ? (
            <Empty title="No requests from agents yet">
              <Anchor renderRoot={(props) => <Link {...props} to="/get-started" />}>Connect an agent</Anchor>
            </Empty>
          ) : (
            <DataTable label="Agents" columns={COLUMNS} rows={rows} more={list} />
          )}
        </Stack>
      )}
    </Page>
  )
}

function Seen({ at }: { readonly at: string | null }) {
  return at === null ? <span className="quiet">never</span> : <Ago at={at} />
}
