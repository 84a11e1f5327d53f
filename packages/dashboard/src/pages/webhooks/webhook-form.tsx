import type { EventType, Webhook, WebhookWrite } from '@countersign/contract'
import { Group, Radio, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useOnceKey } from '../../api/once'
import { CheckList } from '../../components/check-list'
import { DialogButtons } from '../../components/dialog'
import { ErrorNotice } from '../../components/notice'
import { eventGroups } from './event-types'

export interface WebhookFormProps {
  /** The webhook to edit; null for a new one. */
  readonly webhook: Webhook | null
  readonly onClose: () => void
  /** @param key the same for every attempt of this form: see `once` */
  readonly save: (body: WebhookWrite, key: string) => Promise<void>
}

const GROUPS = eventGroups()

export function WebhookForm({ webhook, onClose, save }: WebhookFormProps) {
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [isEvery, setEvery] = useState(webhook !== null && webhook.events === null)
  const [chosen, setChosen] = useState<ReadonlySet<EventType>>(new Set(webhook?.events ?? []))
  const [description, setDescription] = useState(webhook?.description ?? '')
  const [isTried, setTried] = useState(false)
  const { key } = useOnceKey()
  const saving = useMutation({ mutationFn: (body: WebhookWrite) => save(body, key) })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (!isEvery && chosen.size === 0) return
    saving.mutate({
      url,
      events: isEvery ? null : [...chosen],
      description: description || null,
      enabled: webhook?.enabled ?? true,
    })
  }
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <TextInput
          label="URL"
          description="The https URL of your endpoint. Everyone with access to webhooks can see it, so it must not contain a secret."
          type="url"
          maxLength={2048}
          required
          spellCheck={false}
          value={url}
          onChange={(event) => setUrl(event.currentTarget.value.trim())}
          data-autofocus
        />
        <Textarea
          label="Description"
          maxLength={1024}
          autosize
          minRows={1}
          maxRows={6}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <Radio.Group
          label="Events"
          value={isEvery ? 'every' : 'some'}
          onChange={(value) => setEvery(value === 'every')}
        >
          <Group gap="md" mt={4}>
            <Radio value="some" label="Only these" />
            <Radio value="every" label="All types, including those of later releases" />
          </Group>
        </Radio.Group>
        {!isEvery && <CheckList groups={GROUPS} chosen={chosen} onChange={setChosen} />}
        {isTried && !isEvery && chosen.size === 0 && (
          <Text size="sm" role="alert" style={{ color: 'var(--deny)' }}>
            Choose at least one type.
          </Text>
        )}
        {saving.isError && <ErrorNotice error={saving.error} />}
        <DialogButtons action={webhook === null ? 'Create' : 'Save'} onCancel={onClose} isPending={saving.isPending} />
      </Stack>
    </form>
  )
}
