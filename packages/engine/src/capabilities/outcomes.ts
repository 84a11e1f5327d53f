import { EFFECTS, type Effect } from '@countersign/contract'

/**
 * The possible results of a rule, a policy or all of them, one bit each: a more restrictive result has a higher bit.
 */
export type Outcomes = number

/** No match. */
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

/** Returns the names of the effects. */
export function effectsIn(outcomes: Outcomes): Effect[] {
  return SORTED_EFFECTS.filter((effect) => (outcomes & BITS[effect]) !== 0)
}

/**
 * Combines the possible results of several policies when the most restrictive one wins and each result is independent:
 * the combined result is at least as restrictive as the least that each of them can give.
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
