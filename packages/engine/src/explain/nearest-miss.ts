import type { Effect } from '@countersign/contract'
import { compareRestriction } from '../evaluation.js'
import type { PolicyJudgement, RuleJudgement } from './judgement.js'

/** A rule that did not match, and what the answer would have been if it had. */
export interface NearestMiss {
  readonly missed: RuleJudgement
  readonly effect: Effect
}

/**
 * Returns the rule that would have led to a less restrictive effect and failed in the fewest conditions. Among several,
 * it takes the one with the smaller change of effect, then the first in the order of evaluation. Only for a deny or a
 * review: a permitted action has missed nothing. `judged` are the policies that were reached, without shadow policies.
 */
export function findNearestMiss(effect: Effect, judged: readonly PolicyJudgement[]): NearestMiss | null {
  if (effect !== 'deny' && effect !== 'review') return null
  const levels = countEffects(judged)
  let nearest: NearestMiss | null = null
  for (const { policy, rules, match } of judged) {
    for (const missed of rules) {
      if (!isMiss(missed)) continue
      const others = effectOfOthers(levels.get(policy.priority), match?.effect ?? null)
      const miss = { missed, effect: moreRestrictive(missed.rule.effect, others) }
      if (compareRestriction(miss.effect, effect) < 0 && isNearer(miss, nearest)) nearest = miss
    }
  }
  return nearest
}

/** A rule about another action is not a miss. */
function isMiss({ result }: RuleJudgement): boolean {
  return result === 'resource' || result === 'condition' || result === 'unknown'
}

function isNearer(miss: NearestMiss, nearest: NearestMiss | null): boolean {
  if (nearest === null) return true
  const difference = miss.missed.failures.length - nearest.missed.failures.length
  return difference < 0 || (difference === 0 && compareRestriction(miss.effect, nearest.effect) > 0)
}

type EffectCounts = Map<Effect, number>

/** Counts the policies of each priority by effect. */
function countEffects(judged: readonly PolicyJudgement[]): Map<number, EffectCounts> {
  const levels = new Map<number, EffectCounts>()
  for (const { policy, match } of judged) {
    if (match === null || match.effect === null) continue
    const counts: EffectCounts = levels.get(policy.priority) ?? new Map()
    levels.set(policy.priority, counts.set(match.effect, (counts.get(match.effect) ?? 0) + 1))
  }
  return levels
}

/** Returns the effect of a priority without the one policy that gave `own`. */
function effectOfOthers(counts: EffectCounts | undefined, own: Effect | null): Effect | null {
  let result: Effect | null = null
  for (const [effect, count] of counts ?? []) {
    if (count > (effect === own ? 1 : 0)) result = moreRestrictive(effect, result)
  }
  return result
}

function moreRestrictive(one: Effect, other: Effect | null): Effect {
  return other !== null && compareRestriction(other, one) > 0 ? other : one
}
