import type { Delivery } from '@countersign/contract'
import { Ago } from '../../components/time'

export interface NextAttemptProps {
  readonly delivery: Pick<Delivery, 'next_attempt_at'>
  readonly isEnabled: boolean
}

/** The time of the next attempt. A disabled webhook keeps its scheduled attempts but makes none. */
export function NextAttempt({ delivery: { next_attempt_at: at }, isEnabled }: NextAttemptProps) {
  if (at === null) return <span className="quiet">none planned</span>
  return isEnabled ? <Ago at={at} /> : <span className="quiet">none while disabled</span>
}
