import type { DeliveryStatus, Webhook } from '@countersign/contract'
import { Badge } from '../../components/badges'

type Reason = NonNullable<Webhook['disabled']>['reason']

/** Why a webhook receives no events. */
export const DISABLED_REASONS: Readonly<Record<Reason, string>> = {
  requested: 'It was disabled by hand.',
  gone: 'Its endpoint responded with 410 (Gone).',
  failing: 'Nothing could be delivered for five days.',
}

const SHORT: Readonly<Record<Reason, string>> = { requested: 'disabled', gone: 'gone', failing: 'failing' }

export function WebhookState({ webhook: { disabled } }: { readonly webhook: Pick<Webhook, 'disabled'> }) {
  if (disabled === null) return <Badge tone="allow">enabled</Badge>
  return <Badge tone={disabled.reason === 'requested' ? 'quiet' : 'deny'}>{SHORT[disabled.reason]}</Badge>
}

const TONES = { pending: 'review', delivered: 'allow', failed: 'deny' } as const satisfies Record<
  DeliveryStatus,
  string
>

export function DeliveryBadge({ status }: { readonly status: DeliveryStatus }) {
  return <Badge tone={TONES[status]}>{status}</Badge>
}
