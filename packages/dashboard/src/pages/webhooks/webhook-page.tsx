import type { Webhook } from '@countersign/contract'
import { Anchor, Group, List, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { ApiError } from '../../api/client'
import { getWebhook } from '../../api/webhooks'
import { visibleText } from '../../components/invisible'
import { KeyName } from '../../components/key-name'
import { ErrorNotice, Notice } from '../../components/notice'
import { Empty, Loading, Page } from '../../components/page'
import { Facts, Panel } from '../../components/panel'
import { Ago, At } from '../../components/time'
import { useMay } from '../../session'
import { Deliveries } from './deliveries'
import { EVENT_SENTENCES } from './event-types'
import { WebhookActions } from './webhook-actions'
import { DISABLED_REASONS, WebhookState } from './webhook-state'

const route = getRouteApi('/signed-in/webhooks/$id')
/** The server may disable a webhook at any time, so the page polls. */
const REFRESH_MS = 5_000

/** One webhook: its settings and its deliveries. */
export function WebhookPage() {
  const { id } = route.useParams()
  const may = useMay()
  const found = useQuery({
    queryKey: ['webhooks', id],
    queryFn: () => getWebhook(id),
    enabled: may('webhooks:read'),
    refetchInterval: REFRESH_MS,
  })
  const webhook = found.data
  const isUnknown = found.error instanceof ApiError && found.error.status === 404
  return (
    <Page
      title={webhook === undefined ? 'Webhook' : visibleText(webhook.url)}
      heading={
        webhook && (
          <Group gap="sm" component="span">
            <span>{visibleText(webhook.url)}</span>
            <WebhookState webhook={webhook} />
          </Group>
        )
      }
      scopes={['webhooks:read']}
      actions={webhook && may('webhooks:write') && <WebhookActions webhook={webhook} />}
    >
      {isUnknown && (
        <Empty title="Webhook not found">
          <Anchor renderRoot={(props) => <Link {...props} to="/webhooks" />}>All webhooks</Anchor>
        </Empty>
      )}
      {found.isError && !isUnknown && <ErrorNotice error={found.error} retry={found.refetch} />}
      {found.isPending && <Loading what="the webhook" />}
      {webhook !== undefined && (
        <Stack gap="md">
          {webhook.disabled !== null && <Disabled disabled={webhook.disabled} />}
          <WebhookFacts webhook={webhook} />
          <Deliveries key={id} webhook={webhook} />
        </Stack>
      )}
    </Page>
  )
}

function Disabled({ disabled: { at, reason } }: { readonly disabled: NonNullable<Webhook['disabled']> }) {
  return (
    <Notice kind="warning" title="Disabled: it receives no events">
      <Text size="sm">
        {DISABLED_REASONS[reason]} That was <Ago at={at} />. Enable it to resume, and replay the events that it missed.
      </Text>
    </Notice>
  )
}

function WebhookFacts({ webhook }: { readonly webhook: Webhook }) {
  const { id, events, description, created_at, created_by, updated_at } = webhook
  return (
    <Panel title="Settings">
      <Facts
        facts={Object.entries({
          Description: description === null ? null : visibleText(description),
          Events:
            events === null ? (
              'every type'
            ) : (
              <List listStyleType="none" spacing={2}>
                {events.map((type) => (
                  <List.Item key={type}>
                    <span className="mono">{type}</span> <span className="quiet">{EVENT_SENTENCES[type]}</span>
                  </List.Item>
                ))}
              </List>
            ),
          Id: <span className="mono">{id}</span>,
          'Created by': <KeyName id={created_by} />,
          Created: <At at={created_at} />,
          Changed: updated_at === created_at ? null : <At at={updated_at} />,
        })}
      />
    </Panel>
  )
}
