import type { KeyCreate, Scope } from '@countersign/contract'
import { Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { createKey, type MaybeWithSecret } from '../../api/keys'
import { useOnceKey } from '../../api/once'
import { CheckList } from '../../components/check-list'
import { DialogButtons } from '../../components/dialog'
import { ErrorNotice } from '../../components/notice'
import { At } from '../../components/time'
import { TimeInput } from '../../components/time-input'
import { useSession } from '../../session'
import { type ExpiryChoice, endOf, expiryChoices } from './expiry'
import { refusalOf, scopeGroups } from './scopes'

export interface CreateKeyFormProps {
  readonly onClose: () => void
  /** Receives the new key. Nothing else keeps its secret. */
  readonly onCreated: (key: MaybeWithSecret) => void
}

/** The form for a new key. It offers only what the session's key can grant. */
export function CreateKeyForm({ onClose, onCreated }: CreateKeyFormProps) {
  const { key: own } = useSession()
  const [openedMs] = useState(() => Date.now())
  const choices = expiryChoices(own.expires_at, openedMs)
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<ReadonlySet<Scope>>(new Set())
  const [patterns, setPatterns] = useState('')
  const [expiry, setExpiry] = useState<ExpiryChoice>(choices[0]?.value ?? 'at')
  const [at, setAt] = useState<string | null>(null)
  const [isTried, setTried] = useState(false)

  const agents = patterns.split(/[\s,]+/).filter((pattern) => pattern !== '')
  const isAll = chosen.has('*') && agents.length === 0
  const refusal = (scope: Scope) =>
    refusalOf(scope, own, agents.length > 0) ?? (isAll && scope !== '*' ? 'It is part of *.' : null)
  const scopes = [...chosen].filter((scope) => refusal(scope) === null)
  const end = endOf(expiry, at, own.expires_at, openedMs)
  const once = useOnceKey()
  const create = useMutation({
    mutationFn: async (body: KeyCreate) => onCreated(await createKey(body, once.key)),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (scopes.length > 0) create.mutate({ name, scopes, agents: agents.length > 0 ? agents : null, expires_at: end })
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <TextInput
          label="Name"
          description="Who or what uses it. The name appears in the audit log."
          maxLength={128}
          required
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          data-autofocus
        />
        <Textarea
          label="Agents"
          description="Binds the key to these agents. One id or pattern per line, such as agent:support-*. Leave empty for any agent."
          autosize
          minRows={1}
          maxRows={6}
          spellCheck={false}
          value={patterns}
          onChange={(event) => setPatterns(event.currentTarget.value)}
        />
        <Group gap="sm" align="flex-start" grow preventGrowOverflow={false} wrap="wrap">
          <NativeSelect
            label="Expires"
            value={expiry}
            onChange={(event) => setExpiry(event.currentTarget.value as ExpiryChoice)}
            data={choices}
          />
          {expiry === 'at' && <TimeInput label="Time" required value={at} onChange={setAt} />}
        </Group>
        {own.expires_at !== null && (
          <Text size="sm" className="quiet">
            Your key expires at <At at={own.expires_at} />. Keys that it creates cannot outlive it.
          </Text>
        )}
        <CheckList groups={scopeGroups(refusal)} chosen={isAll ? chosen : new Set(scopes)} onChange={setChosen} />
        {isTried && scopes.length === 0 && (
          <Text size="sm" role="alert" style={{ color: 'var(--deny)' }}>
            Choose at least one scope.
          </Text>
        )}
        {create.isError && <ErrorNotice error={create.error} />}
        <DialogButtons action="Create" onCancel={onClose} isPending={create.isPending} />
      </Stack>
    </form>
  )
}
