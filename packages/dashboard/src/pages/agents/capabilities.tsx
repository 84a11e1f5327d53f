import type { Capability } from '@countersign/contract'
import { Button, Group, Stack, Table, Text, TextInput } from '@mantine/core'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { type FormEvent, useId, useState } from 'react'
import { listCapabilities } from '../../api/agents'
import { EffectBadge } from '../../components/badges'
import { ErrorNotice } from '../../components/notice'
import { Loading } from '../../components/page'
import { Panel } from '../../components/panel'
import { capabilitiesKey } from './changed-agent'
import { useKnownActions } from './known-actions'

const ACTION = /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/
const LONGEST = 128
/** The most actions that the API accepts in one call. */
const MOST_ACTIONS = 1_000

/** The effects that an agent's requests can get, for known actions and any that the user adds. */
export function Capabilities({ id }: { readonly id: string }) {
  const known = useKnownActions(id)
  const [added, setAdded] = useState<readonly string[]>([])
  const actions = known === null ? null : [...new Set([...added, ...known])].slice(0, MOST_ACTIONS)
  const capabilities = useQuery({
    queryKey: [...capabilitiesKey(id), actions],
    queryFn: () => listCapabilities(id, actions ?? []),
    enabled: actions !== null && actions.length > 0,
    placeholderData: keepPreviousData,
  })
  return (
    <Panel title="Possible effects">
      <Stack gap="md">
        <Text className="quiet">
          The effects that current policies can give this agent’s requests, for any resource, context and time. Lists
          the actions it has requested and those that policies name.
        </Text>
        <AddAction onAdd={(action) => setAdded([action, ...added.filter((one) => one !== action)])} />
        {capabilities.isError && <ErrorNotice error={capabilities.error} retry={capabilities.refetch} />}
        {(actions === null || capabilities.isLoading) && <Loading what="the possible effects" />}
        {actions?.length === 0 && <Text className="quiet">No known actions yet. Add one.</Text>}
        {capabilities.data !== undefined && actions?.length !== 0 && <EffectsTable data={capabilities.data.data} />}
      </Stack>
    </Panel>
  )
}

function AddAction({ onAdd }: { readonly onAdd: (action: string) => void }) {
  const [action, setAction] = useState('')
  const [isTried, setTried] = useState(false)
  const faultId = useId()
  const isAction = action.length <= LONGEST && ACTION.test(action)
  const isFaulty = isTried && !isAction
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(!isAction)
    if (!isAction) return
    onAdd(action)
    setAction('')
  }
  return (
    <form onSubmit={submit}>
      <Group gap="xs" align="flex-end">
        <TextInput
          label="Another action"
          placeholder="payment.refund"
          value={action}
          onChange={(event) => setAction(event.currentTarget.value.trim())}
          aria-invalid={isFaulty}
          {...(isFaulty && { 'aria-describedby': faultId })}
        />
        <Button type="submit" variant="default">
          Add
        </Button>
      </Group>
      {isFaulty && (
        <Text size="sm" id={faultId} role="alert" style={{ color: 'var(--deny)' }}>
          Use letters, digits, _ and -, with dots between words, such as payment.refund.
        </Text>
      )}
    </form>
  )
}

function EffectsTable({ data }: { readonly data: readonly Capability[] }) {
  return (
    <Table aria-label="Effects by action" layout="fixed">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>Action</Table.Th>
          <Table.Th>Possible effects</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {data.map(({ action, effects }) => (
          <Table.Tr key={action}>
            <Table.Td className="mono">{action}</Table.Td>
            <Table.Td>
              <Group gap={6}>
                {effects.map((effect) => (
                  <EffectBadge key={effect} effect={effect} />
                ))}
              </Group>
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </Table>
  )
}
