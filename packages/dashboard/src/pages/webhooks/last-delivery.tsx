import { Group } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { listDeliveries } from '../../api/webhooks'
import { Ago } from '../../components/time'
import { DeliveryBadge } from './webhook-state'

/** The status of a webhook's newest delivery. */
export function LastDelivery({ id }: { readonly id: string }) {
  const newest = useQuery({
    queryKey: ['webhooks', id, 'newest'],
    queryFn: async ({ signal }) => (await listDeliveries(id, { limit: 1 }, signal)).data[0] ?? null,
    refetchInterval: 30_000,
  })
  if (newest.data === undefined) return null
  if (newest.data === null) return <span className="quiet">none yet</span>
  return (
    <Group gap={6} wrap="nowrap">
      <DeliveryBadge status={newest.data.status} />
      <Ago at={newest.data.attempts.at(-1)?.at ?? newest.data.created_at} />
    </Group>
  )
}
