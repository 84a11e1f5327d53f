import type { Delivery } from '@countersign/contract'
import { Ago } from '../../components/time'

export interface NextAttemptProps {
  readonly delivery: Pick<Delivery, 'next_attempt_at'>
  readonly isEnabled: boolean
}

/** When a delivery is tried again. A disabled webhook keeps its plans, and nothing comes of them. */
export function NextAttempt({ delivery: { next_attempt_at: at }, isEnabled }: NextAttemptProps) {
  if (at === null) return <span className="quiet">none planned</span>
  return isEnabled ? <Ago at={at} /> : <span className="quiet">none while disabled</span>
}
