import { matchesPattern, type Pattern } from '@countersign/contract'

/** Whether the pattern consists only of stars, so that it matches every text. */
export function matchesEverything(source: string): boolean {
  return source !== '' && source.replaceAll('*', '') === ''
}

/** Whether `wide` matches every text that `narrow` matches: only a star can cover a star. */
export function coversPattern(wide: Pattern, narrow: Pattern): boolean {
  return matchesPattern(wide, narrow.source)
}

/**
 * Whether some text matches both. Two patterns with stars can always share the middle, so only their beginnings and
 * their ends must agree.
 */
export function patternsOverlap(one: Pattern, other: Pattern): boolean {
  if (one.suffix === null) return matchesPattern(other, one.prefix)
  if (other.suffix === null) return matchesPattern(one, other.prefix)
  const beginningsAgree = one.prefix.startsWith(other.prefix) || other.prefix.startsWith(one.prefix)
  return beginningsAgree && (one.suffix.endsWith(other.suffix) || other.suffix.endsWith(one.suffix))
}
