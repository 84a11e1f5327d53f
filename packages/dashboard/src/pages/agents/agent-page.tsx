import type { Agent } from '@countersign/contract'
import { Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { deleteAgent, getAgent } from '../../api/agents'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { visibleText } from '../../components/invisible'
import { JsonView } from '../../components/json/json-view'
import { KeyName } from '../../components/key-name'
import { ErrorNotice, Notice } from '../../components/notice'
import { Empty, Loading, Page } from '../../components/page'
import { Facts, Panel } from '../../components/panel'
import { Ago, At } from '../../components/time'
import { useMay } from '../../session'
import { Activity } from './activity'
import { isAgentId } from './agent-id'
import { AgentState } from './agent-state'
import { Capabilities } from './capabilities'
import { agentKey, forgetAgent } from './changed-agent'
import { EraseRequests } from './erase-requests'
import { KillSwitch } from './kill-switch'
import { RegistrationDialog } from './registration-dialog'

const route = getRouteApi('/signed-in/agents/$id')

/** One agent, even one that has never made a request. */
export function AgentPage() {
  const { id } = route.useParams()
  return isAgentId(id) ? <KnownId key={id} id={id} /> : <NoSuchId id={id} />
}

function NoSuchId({ id }: { readonly id: string }) {
  return (
    <Page title="Agent" scopes={['agents:read']}>
      <Empty title="This is not a valid agent id">
        <p className="mono">{visibleText(id)}</p>
        <Anchor renderRoot={(props) => <Link {...props} to="/agents" />}>All agents</Anchor>
      </Empty>
    </Page>
  )
}

function KnownId({ id }: { readonly id: string }) {
  const may = useMay()
  const mayRead = may('agents:read')
  const found = useQuery({ queryKey: agentKey(id), queryFn: () => getAgent(id), enabled: mayRead })
  const agent = found.data ?? (found.data === null ? unknownAgent(id) : undefined)
  return (
    <Page
      title={id}
      heading={
        <Group gap="sm" component="span">
          <span>{id}</span>
          {agent !== undefined && <AgentState agent={agent} />}
        </Group>
      }
      lead={agent?.name != null ? visibleText(agent.name) : undefined}
      scopes={['agents:read']}
      actions={agent !== undefined && may('agents:write') && <KillSwitch agent={agent} />}
    >
      {found.isError && <ErrorNotice error={found.error} retry={found.refetch} />}
      {found.isPending && <Loading what="the agent" />}
      {agent !== undefined && (
        <Stack gap="md">
          {agent.suspended !== null && <Suspension suspended={agent.suspended} />}
          {found.data === null && (
            <Notice kind="info" title="This agent has not been seen">
              It has made no requests and is not registered. You can still suspend it, so that its first request is
              denied.
            </Notice>
          )}
          <Registration agent={agent} />
          {may('decisions:read') && <Activity id={id} />}
          {may('decisions:write') && <Capabilities id={id} />}
          {may('audit:write') && <EraseRequests id={id} />}
        </Stack>
      )}
    </Page>
  )
}

function Suspension({ suspended: { at, by, reason } }: { readonly suspended: NonNullable<Agent['suspended']> }) {
  return (
    <Notice kind="error" title="Suspended: every request from this agent is denied" isUrgent={false}>
      <Text size="sm">
        <Ago at={at} /> by <KeyName id={by} />. {reason === null ? 'No reason was given.' : visibleText(reason)}
      </Text>
      <Text size="sm">
        Earlier decisions can no longer be approved, claimed or redeemed. Actions that are already running can still be
        confirmed or rejected.
      </Text>
    </Notice>
  )
}

function Registration({ agent }: { readonly agent: Agent }) {
  const may = useMay()
  const client = useQueryClient()
  const [isEditing, edit] = useDisclosure()
  const [isDeleting, remove] = useDisclosure()
  const { id, registered, suspended } = agent
  return (
    <Panel
      title="Registration"
      aside={
        may('agents:write') && (
          <Group gap="xs">
            <Button size="xs" variant="default" onClick={edit.open}>
              {registered ? 'Edit' : 'Register'}
            </Button>
            {registered && (
              <Button
                size="xs"
                variant="default"
                onClick={remove.open}
                disabled={suspended !== null}
                {...(suspended !== null && { title: 'Resume the agent first' })}
              >
                Delete
              </Button>
            )}
          </Group>
        )
      }
    >
      <Stack gap="md">
        <Facts
          facts={Object.entries({
            Registered: agent.created_at === null ? 'no (policies see no metadata)' : <At at={agent.created_at} />,
            Description: agent.description === null ? null : visibleText(agent.description),
            'First seen': agent.first_seen === null ? 'never' : <At at={agent.first_seen} />,
            'Last seen': agent.last_seen === null ? 'never' : <Ago at={agent.last_seen} />,
          })}
        />
        {registered && <JsonView value={agent.metadata} label="Metadata" />}
      </Stack>
      <RegistrationDialog opened={isEditing} onClose={edit.close} agent={agent} />
      <ConfirmDialog
        title={`Delete the registration of ${id}?`}
        opened={isDeleting}
        onClose={remove.close}
        action="Delete the registration"
        isDangerous
        run={async () => {
          await deleteAgent(id)
          forgetAgent(client, id)
        }}
      >
        <Text>
          This deletes the name, description and metadata. The agent can still make requests, but conditions that read
          its metadata become unknown and allow nothing, and per-agent budgets deny it.
        </Text>
      </ConfirmDialog>
    </Panel>
  )
}

function unknownAgent(id: string): Agent {
  const nothing = {
    name: null,
    description: null,
    suspended: null,
    first_seen: null,
    last_seen: null,
    created_at: null,
  }
  return { id, ...nothing, metadata: {}, registered: false }
}
