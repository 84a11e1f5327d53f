import { EFFECTS, type Effect } from '@countersign/contract'

/** What a rule, a policy or all of them can say, one bit each: what is more restrictive has a greater bit. */
export type Outcomes = number

/** It does not match. */
export const NOTHING: Outcomes = 1
export const LOG: Outcomes = 2
export const ALLOW: Outcomes = 4
export const REVIEW: Outcomes = 8
export const DENY: Outcomes = 16
const BITS: Readonly<Record<Effect, Outcomes>> = { log: LOG, allow: ALLOW, review: REVIEW, deny: DENY }
const SORTED_EFFECTS: readonly Effect[] = [...EFFECTS].sort()

export const ANY_EFFECT: Outcomes = LOG | ALLOW | REVIEW | DENY

export function outcomeOf(effect: Effect): Outcomes {
  return BITS[effect]
}

/** By name. */
export function effectsIn(outcomes: Outcomes): Effect[] {
  return SORTED_EFFECTS.filter((effect) => (outcomes & BITS[effect]) !== 0)
}

/**
 * What several say together when the most restrictive wins, and each can say what it can whatever the others do: no less
 * than each of them says at least.
 */
export class MostRestrictive {
  private said: Outcomes = 0
  private least: Outcomes = NOTHING

  add(outcomes: Outcomes): void {
    this.said |= outcomes
    this.least = Math.max(this.least, outcomes & -outcomes)
  }

  get outcomes(): Outcomes {
    return this.said & -this.least
  }
}
