import { matchesPattern, type Pattern } from '@countersign/contract'

/** Whether the pattern is made of stars alone, so that it matches every text. */
export function matchesEverything(source: string): boolean {
  return source !== '' && source.replaceAll('*', '') === ''
}

/** Whether every text that `narrow` matches is matched by `wide` too: only a star can stand for a star. */
export function coversPattern(wide: Pattern, narrow: Pattern): boolean {
  return matchesPattern(wide, narrow.source)
}

/**
 * Whether some text matches both. Two patterns with stars can always share what lies in between, so only their
 * beginnings and their ends have to agree.
 */
export function patternsOverlap(one: Pattern, other: Pattern): boolean {
  if (one.suffix === null) return matchesPattern(other, one.prefix)
  if (other.suffix === null) return matchesPattern(one, other.prefix)
  const beginningsAgree = one.prefix.startsWith(other.prefix) || other.prefix.startsWith(one.prefix)
  return beginningsAgree && (one.suffix.endsWith(other.suffix) || other.suffix.endsWith(one.suffix))
}
