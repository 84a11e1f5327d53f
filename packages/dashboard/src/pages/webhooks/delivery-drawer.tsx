import type { Delivery, DeliveryAttempt, Webhook } from '@countersign/contract'
import { Button, Group, Stack, Text, Title } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useOnceKey } from '../../api/once'
import { retryDelivery } from '../../api/webhooks'
import { visibleText } from '../../components/invisible'
import { ErrorNotice } from '../../components/notice'
import { Facts } from '../../components/panel'
import { SidePanel } from '../../components/side-panel'
import { At } from '../../components/time'
import { useMay } from '../../session'
import classes from './delivery-drawer.module.css'
import { NextAttempt } from './next-attempt'
import { DeliveryBadge } from './webhook-state'

export interface DeliveryDrawerProps {
  readonly webhook: Webhook
  /** Null while the drawer is closed. */
  readonly delivery: Delivery | null
  readonly onClose: () => void
  readonly onRetried: (delivery: Delivery) => void
}

/** One delivery, with each attempt and response. */
export function DeliveryDrawer({ webhook, delivery, onClose, onRetried }: DeliveryDrawerProps) {
  return (
    <SidePanel title={delivery?.type ?? ''} isOpen={delivery !== null} onClose={onClose}>
      {delivery !== null && <Details webhook={webhook} delivery={delivery} onRetried={onRetried} />}
    </SidePanel>
  )
}

type DetailsProps = Omit<DeliveryDrawerProps, 'delivery' | 'onClose'> & { readonly delivery: Delivery }

function Details({ webhook, delivery, onRetried }: DetailsProps) {
  const may = useMay()
  const client = useQueryClient()
  const { key, renew } = useOnceKey()
  const retry = useMutation({
    mutationFn: () => retryDelivery(webhook.id, delivery.id, key),
    onSuccess: (again) => {
      renew()
      onRetried(again)
      void client.invalidateQueries({ queryKey: ['webhooks', webhook.id] })
    },
  })
  const { id, event_id, subject, status, event_at, attempt_count, attempts } = delivery
  return (
    <Stack gap="md">
      <Facts
        facts={Object.entries({
          Status: <DeliveryBadge status={status} />,
          About: <span className="mono">{visibleText(subject)}</span>,
          Happened: <At at={event_at} />,
          Attempts: attempt_count,
          'Next attempt': <NextAttempt delivery={delivery} isEnabled={webhook.enabled} />,
          'webhook-id': <span className="mono">{event_id}</span>,
          Delivery: <span className="mono">{id}</span>,
        })}
      />
      {may('webhooks:write') && (
        <Group gap="sm">
          <Button
            variant="default"
            onClick={() => retry.mutate()}
            loading={retry.isPending}
            disabled={!webhook.enabled}
          >
            Retry now
          </Button>
          <Text size="sm" className="quiet">
            {webhook.enabled ? 'Its ten attempts start over.' : 'Enable the webhook first.'}
          </Text>
        </Group>
      )}
      {retry.isError && <ErrorNotice error={retry.error} />}
      <Title order={3} size="h4">
        Attempts
      </Title>
      {attempts.length === 0 && <Text className="quiet">None yet.</Text>}
      {attempt_count > attempts.length && (
        <Text size="sm" className="quiet">
          The last {attempts.length} of {attempt_count}.
        </Text>
      )}
      <ol className={classes.attempts} aria-label="Attempts, newest first">
        {attempts.toReversed().map((attempt) => (
          <Attempt key={attempt.at} attempt={attempt} showsAnswer={may('webhooks:write')} />
        ))}
      </ol>
    </Stack>
  )
}

interface AttemptProps {
  readonly attempt: DeliveryAttempt
  readonly showsAnswer: boolean
}

function Attempt({ attempt: { at, status, error, response, duration_ms }, showsAnswer }: AttemptProps) {
  return (
    <li>
      <Group gap="sm">
        <Text fw={600}>{status === null ? 'No response' : `Status ${status}`}</Text>
        <Text size="sm" className="quiet">
          <At at={at} />, {duration_ms} ms
        </Text>
      </Group>
      {error !== null && (
        <Text size="sm" style={{ color: 'var(--deny)', overflowWrap: 'anywhere' }}>
          {visibleText(error)}
        </Text>
      )}
      {response !== null && response !== '' && <pre className={classes.answer}>{visibleText(response)}</pre>}
      {!showsAnswer && status !== null && (
        <Text size="sm" className="quiet">
          Keys with webhooks:write can see the response body.
        </Text>
      )}
    </li>
  )
}
