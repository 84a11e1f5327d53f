import { Button, Group, Stack, Text } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useOnceKey } from '../../api/once'
import { replayWebhook } from '../../api/webhooks'
import { DialogButtons } from '../../components/dialog'
import { ErrorNotice, Notice } from '../../components/notice'
import { At } from '../../components/time'
import { TimeInput } from '../../components/time-input'

const HOUR_MS = 3_600_000

export interface ReplayFormProps {
  readonly id: string
  readonly onClose: () => void
}

/** Sends the events of a period again. */
export function ReplayForm({ id, onClose }: ReplayFormProps) {
  const client = useQueryClient()
  const [since, setSince] = useState<string | null>(() => new Date(Date.now() - HOUR_MS).toISOString())
  const [until, setUntil] = useState<string | null>(null)
  const { key } = useOnceKey()
  const replay = useMutation({
    mutationFn: (start: string) => replayWebhook(id, { since: start, until }, key),
    onSuccess: () => client.invalidateQueries({ queryKey: ['webhooks', id] }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (since !== null) replay.mutate(since)
  }
  if (replay.isSuccess)
    return (
      <Stack gap="md">
        <Notice kind="success" title="The replay has started">
          It sends the events from <At at={replay.data.since} /> to <At at={replay.data.until} />. They appear in the
          list of deliveries as they are sent.
        </Notice>
        <Group justify="flex-end">
          <Button onClick={onClose}>Close</Button>
        </Group>
      </Stack>
    )
  return (
    <form onSubmit={submit}>
      <Stack gap="md">
        <Text>
          Sends the events of a period again, limited to the types the webhook receives now. Your endpoint can recognize
          duplicates by their <code>webhook-id</code>.
        </Text>
        <TimeInput label="Since" required value={since} onChange={setSince} />
        <TimeInput label="Until" description="Empty: now." value={until} onChange={setUntil} />
        {replay.isError && <ErrorNotice error={replay.error} />}
        <DialogButtons action="Replay" onCancel={onClose} isPending={replay.isPending} />
      </Stack>
    </form>
  )
}
