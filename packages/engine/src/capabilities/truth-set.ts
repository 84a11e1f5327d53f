import { FALSE, TRUE, type Truth, UNKNOWN } from '../truth.js'

/** A set of possible truths, one bit each: a greater truth has a higher bit. */
export type TruthSet = number

const FALSE_BIT = setOf(FALSE)
const UNKNOWN_BIT = setOf(UNKNOWN)
const TRUE_BIT = setOf(TRUE)

export const ANY_TRUTH: TruthSet = FALSE_BIT | UNKNOWN_BIT | TRUE_BIT

export function setOf(truth: Truth): TruthSet {
  return 1 << truth
}

export function includes(set: TruthSet, truth: Truth): boolean {
  return (set & setOf(truth)) !== 0
}

/** Returns the possible truths of `and` when both sides vary independently. */
export function andOf(one: TruthSet, other: TruthSet): TruthSet {
  const isNeverFalse = one > FALSE_BIT && other > FALSE_BIT
  return (one & other & TRUE_BIT) | ((one | other) & (isNeverFalse ? FALSE_BIT | UNKNOWN_BIT : FALSE_BIT))
}

export function orOf(one: TruthSet, other: TruthSet): TruthSet {
  return notOf(andOf(notOf(one), notOf(other)))
}

export function notOf(set: TruthSet): TruthSet {
  return (set & UNKNOWN_BIT) | (includes(set, TRUE) ? FALSE_BIT : 0) | (includes(set, FALSE) ? TRUE_BIT : 0)
}
