import type { Webhook, WebhookWrite } from '@countersign/contract'
import { Button, Menu, Text } from '@mantine/core'
import { ChevronDownIcon } from '@primer/octicons-react'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useOnceKey } from '../../api/once'
import { deleteWebhook, rotateWebhookSecret, testWebhook, updateWebhook } from '../../api/webhooks'
import { ConfirmDialog } from '../../components/confirm-dialog'
import { Dialog } from '../../components/dialog'
import { visibleText } from '../../components/invisible'
import { endOfGrace, RotateDialog } from '../../components/rotate-dialog'
import { ReplayForm } from './replay-form'
import { WebhookForm } from './webhook-form'

type Deed = 'edit' | 'rotate' | 'replay' | 'disable' | 'enable' | 'delete'

/** The actions for a webhook. */
export function WebhookActions({ webhook }: { readonly webhook: Webhook }) {
  const { id, enabled } = webhook
  const client = useQueryClient()
  const navigate = useNavigate()
  const [open, setOpen] = useState<Deed | null>(null)
  const close = () => setOpen(null)
  const readAgain = () => client.invalidateQueries({ queryKey: ['webhooks'] })
  const testing = useOnceKey()
  const test = useMutation({
    mutationFn: () => testWebhook(id, testing.key),
    onSuccess: () => {
      testing.renew()
      return readAgain()
    },
  })
  const write = async (body: WebhookWrite) => {
    client.setQueryData(['webhooks', id], await updateWebhook(id, body))
    void readAgain()
  }
  const rotate = async (graceSeconds: number, key: string) => {
    const { secret } = await rotateWebhookSecret(id, graceSeconds, key)
    const note = `Messages are also signed with the old secret. That ends ${endOfGrace(graceSeconds)}.`
    return { title: 'The new secret of the webhook', secret, note }
  }
  const remove = async () => {
    await deleteWebhook(id)
    await navigate({ to: '/webhooks' })
    client.removeQueries({ queryKey: ['webhooks', id] })
    void readAgain()
  }
  return (
    <>
      <Button
        variant="default"
        onClick={() => test.mutate()}
        loading={test.isPending}
        disabled={!enabled}
        {...(!enabled && { title: 'Enable the webhook first' })}
      >
        <span aria-live="polite">{test.isError ? 'Not sent: try again' : 'Send a test event'}</span>
      </Button>
      <Menu position="bottom-end" width={240} transitionProps={{ duration: 0 }}>
        <Menu.Target>
          <Button variant="default" rightSection={<ChevronDownIcon size={16} />}>
            Change
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setOpen('edit')}>Edit</Menu.Item>
          <Menu.Item onClick={() => setOpen('replay')} disabled={!enabled}>
            Replay events
          </Menu.Item>
          <Menu.Item onClick={() => setOpen('rotate')}>Rotate the secret</Menu.Item>
          <Menu.Item onClick={() => setOpen(enabled ? 'disable' : 'enable')}>
            {enabled ? 'Disable' : 'Enable'}
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item onClick={() => setOpen('delete')}>Delete</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Dialog title="Edit the webhook" opened={open === 'edit'} onClose={close} size="xl">
        <WebhookForm webhook={webhook} onClose={close} save={(body) => write(body).then(close)} />
      </Dialog>
      <Dialog title="Replay events" opened={open === 'replay'} onClose={close}>
        <ReplayForm id={id} onClose={close} />
      </Dialog>
      <RotateDialog
        title="Rotate the secret"
        opened={open === 'rotate'}
        onClose={close}
        explanation="The webhook gets a new secret, which is shown once. While the old one is valid, each message is signed with both."
        rotate={rotate}
      />
      <ConfirmDialog
        title="Disable the webhook?"
        opened={open === 'disable'}
        onClose={close}
        action="Disable"
        isDangerous
        run={() => write({ ...settingsOf(webhook), enabled: false })}
      >
        <Text>It receives no more events. Scheduled attempts and replays stop.</Text>
      </ConfirmDialog>
      <ConfirmDialog
        title="Enable the webhook?"
        opened={open === 'enable'}
        onClose={close}
        action="Enable"
        run={() => write({ ...settingsOf(webhook), enabled: true })}
      >
        <Text>It receives new events, and pending deliveries resume. Use a replay for the events that it missed.</Text>
      </ConfirmDialog>
      <ConfirmDialog
        title="Delete the webhook?"
        opened={open === 'delete'}
        onClose={close}
        action="Delete"
        isDangerous
        run={remove}
      >
        <Text>
          <span className="mono">{visibleText(webhook.url)}</span> receives no more events. Its deliveries are deleted
          too. This cannot be undone.
        </Text>
      </ConfirmDialog>
    </>
  )
}

function settingsOf({ url, events, description }: Webhook): WebhookWrite {
  return { url, events: events === null ? null : [...events], description }
}
