import type { Webhook, WebhookWrite } from '@countersign/contract'
import { Anchor, Button } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ColumnDef } from '@tanstack/react-table'
import { createWebhook, listWebhooks } from '../../api/webhooks'
import { DataTable } from '../../components/data-table'
import { visibleText } from '../../components/invisible'
import { ErrorNotice } from '../../components/notice'
import { Empty, Loading, Page } from '../../components/page'
import { type OnceSecret, SecretOnce } from '../../components/secret-once'
import { TwoLines } from '../../components/two-lines'
import { useMay } from '../../session'
import { LastDelivery } from './last-delivery'
import { WebhookForm } from './webhook-form'
import { DISABLED_REASONS, WebhookState } from './webhook-state'

const COLUMNS: ColumnDef<Webhook>[] = [
  {
    id: 'url',
    header: 'URL',
    size: 0,
    cell: ({ row: { original } }) => (
      <TwoLines
        first={
          <Anchor
            renderRoot={(props) => <Link {...props} to="/webhooks/$id" params={{ id: original.id }} data-row-link />}
          >
            {visibleText(original.url)}
          </Anchor>
        }
        second={
          original.disabled === null
            ? visibleText(original.description ?? '')
            : DISABLED_REASONS[original.disabled.reason]
        }
      />
    ),
  },
  {
    id: 'events',
    header: 'Events',
    size: 150,
    enableHiding: true,
    cell: ({ row: { original } }) => (
      <TwoLines
        first={original.events === null ? 'every type' : original.events.join(', ')}
        second={original.events === null ? '' : `${original.events.length} of the types`}
      />
    ),
  },
  { id: 'state', header: 'State', size: 80, cell: ({ row }) => <WebhookState webhook={row.original} /> },
  {
    id: 'last',
    header: 'Last delivery',
    size: 230,
    enableHiding: true,
    cell: ({ row }) => <LastDelivery id={row.original.id} />,
  },
]

export function WebhooksPage() {
  const may = useMay()
  const client = useQueryClient()
  const [isCreating, dialog] = useDisclosure()
  const list = useQuery({
    queryKey: ['webhooks', 'list'],
    queryFn: listWebhooks,
    enabled: may('webhooks:read'),
    refetchInterval: 30_000,
  })
  const create = async (body: WebhookWrite, key: string) => {
    const { secret } = await createWebhook(body, key)
    void client.invalidateQueries({ queryKey: ['webhooks'] })
    const note = 'Your endpoint uses it to verify that a message comes from this server.'
    return { title: 'The secret of the webhook', secret, note } satisfies OnceSecret
  }
  const createButton = may('webhooks:write') && <Button onClick={dialog.open}>Create a webhook</Button>
  return (
    <Page title="Webhooks" lead="Send events to your own endpoints." scopes={['webhooks:read']} actions={createButton}>
      {list.isError && <ErrorNotice error={list.error} retry={list.refetch} />}
      {list.isPending && <Loading what="webhooks" />}
      {list.data?.data.length === 0 && (
        <Empty title="No webhooks yet">
          {may('webhooks:write')
            ? 'Create a webhook to get notified, for example when a review is pending or a budget is used up.'
            : 'A key with webhooks:write can create a webhook.'}
        </Empty>
      )}
      {list.data !== undefined && list.data.data.length > 0 && (
        <DataTable label="Webhooks" columns={COLUMNS} rows={list.data.data} />
      )}
      <SecretOnce title="Create a webhook" opened={isCreating} onClose={dialog.close} size="xl">
        {(show) => (
          <WebhookForm
            webhook={null}
            onClose={dialog.close}
            save={async (body, key) => show(await create(body, key))}
          />
        )}
      </SecretOnce>
    </Page>
  )
}
