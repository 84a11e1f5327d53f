import type { Agent, AgentUpdate } from '@countersign/contract'
import { Stack, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { registerAgent, updateAgent } from '../../api/agents'
import { Dialog, DialogButtons } from '../../components/dialog'
import { ErrorNotice } from '../../components/notice'
import { isAgentId } from './agent-id'
import { useChangedAgent } from './changed-agent'
import { metadataText, readMetadata } from './metadata-text'

export interface RegistrationDialogProps {
  readonly opened: boolean
  readonly onClose: () => void
  /** The agent to register or to edit; null to ask for an id. */
  readonly agent: Agent | null
  readonly onDone?: (agent: Agent) => void
}

export function RegistrationDialog({ opened, agent, ...rest }: RegistrationDialogProps) {
  const title = agent?.registered ? `Edit ${agent.id}` : agent === null ? 'Register an agent' : `Register ${agent.id}`
  return (
    <Dialog title={title} opened={opened} onClose={rest.onClose} size="lg">
      <RegistrationForm agent={agent} {...rest} />
    </Dialog>
  )
}

function RegistrationForm({ agent, onClose, onDone }: Omit<RegistrationDialogProps, 'opened'>) {
  const [id, setId] = useState(agent?.id ?? '')
  const [name, setName] = useState(agent?.name ?? '')
  const [description, setDescription] = useState(agent?.description ?? '')
  const [metadata, setMetadata] = useState(() => metadataText(agent?.metadata ?? {}))
  const [isTried, setTried] = useState(false)
  const changed = useChangedAgent()
  const save = useMutation({
    mutationFn: (body: AgentUpdate) =>
      agent?.registered ? updateAgent(agent.id, body) : registerAgent({ id, ...body }),
    onSuccess: (saved) => {
      changed(saved)
      onClose()
      onDone?.(saved)
    },
  })
  const read = readMetadata(metadata)
  const metadataFault = typeof read === 'string' ? read : null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (typeof read !== 'string' && isAgentId(id))
      save.mutate({ name: name.trim() === '' ? null : name, description: description || null, metadata: read })
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        {agent === null && (
          <TextInput
            label="Id"
            description="The id that the agent sends with each request, such as agent:support-7."
            value={id}
            onChange={(event) => setId(event.currentTarget.value.trim())}
            error={
              isTried && !isAgentId(id) && 'Start with a letter or digit, then letters, digits and . _ : @ / + - only.'
            }
            required
            data-autofocus
          />
        )}
        <TextInput
          label="Name"
          maxLength={128}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          {...(agent !== null && { 'data-autofocus': true })}
        />
        <Textarea
          label="Description"
          maxLength={1024}
          autosize
          minRows={2}
          maxRows={6}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <Textarea
          label="Metadata"
          description="A JSON object. Policies read it as agent.<field>; the agent cannot change it."
          autosize
          minRows={5}
          maxRows={16}
          spellCheck={false}
          styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)' } }}
          value={metadata}
          onChange={(event) => setMetadata(event.currentTarget.value)}
          error={isTried && metadataFault}
        />
        {save.isError && <ErrorNotice error={save.error} />}
        <DialogButtons action={agent?.registered ? 'Save' : 'Register'} onCancel={onClose} isPending={save.isPending} />
      </Stack>
    </form>
  )
}
