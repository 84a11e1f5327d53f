/** The effects and statuses of decisions, each in its colour. */
import type { DecisionStatus, Effect } from '@countersign/contract'
import classes from './badges.module.css'

type Tone = 'allow' | 'deny' | 'review' | 'log' | 'quiet'

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: string }) {
  return (
    <span className={classes.badge} data-tone={tone}>
      {children}
    </span>
  )
}

export function EffectBadge({ effect }: { readonly effect: Effect }) {
  return <Badge tone={effect}>{effect}</Badge>
}

const STATUS_TONES: Readonly<Record<DecisionStatus, Tone>> = {
  authorized: 'allow',
  denied: 'deny',
  awaiting_review: 'review',
  approved: 'allow',
  declined: 'deny',
  confirmed: 'allow',
  rejected: 'quiet',
  expired: 'quiet',
}

export function StatusBadge({ status }: { readonly status: DecisionStatus }) {
  return <Badge tone={STATUS_TONES[status]}>{wordsOf(status)}</Badge>
}

/** Writes `awaiting_review` as `awaiting review`. */
export function wordsOf(name: string): string {
  return name.replaceAll('_', ' ')
}
