/** A text found inside another in linear time, whatever the two hold (Knuth, Morris, Pratt). */
interface Piece {
  readonly text: string
  /** For each position, the length of the longest proper prefix that ends there: where to go on after a mismatch. */
  readonly fallback: Uint16Array
}

/** A compiled pattern: `*` stands for any run of characters, also none; nothing else is special. */
export interface Pattern {
  readonly source: string
  /** The text before the first `*`; the whole pattern when it has none. */
  readonly prefix: string
  /** The text after the last `*`, or null when the pattern has no `*` and stands for itself alone. */
  readonly suffix: string | null
  /** What has to occur in between, in this order. */
  readonly pieces: readonly Piece[]
}

/** One list for all patterns without pieces: there are many. */
const NO_PIECES: readonly Piece[] = []

/** Prepares a pattern to be matched many times. Any text is a pattern. */
export function compilePattern(source: string): Pattern {
  const parts = source.split('*')
  const prefix = parts[0] as string
  if (parts.length === 1) return { source, prefix, suffix: null, pieces: NO_PIECES }
  const suffix = parts.at(-1) as string
  const inner = parts.slice(1, -1).filter((text) => text !== '')
  const pieces = inner.length === 0 ? NO_PIECES : inner.map((text) => ({ text, fallback: fallbackOf(text) }))
  return { source, prefix, suffix, pieces }
}

/** Whether the whole text matches, in time linear in the lengths of the two. Case counts; characters are UTF-16 code units. */
export function matchesPattern(pattern: Pattern, text: string): boolean {
  const { prefix, suffix, pieces } = pattern
  if (suffix === null) return text === prefix
  const end = text.length - suffix.length
  if (end < prefix.length || !text.startsWith(prefix) || !text.endsWith(suffix)) return false
  let from = prefix.length
  for (const piece of pieces) {
    from = endOfPiece(piece, text, from, end)
    if (from === -1) return false
  }
  return true
}

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

function endOfPiece(piece: Piece, text: string, from: number, end: number): number {
  const { text: wanted, fallback } = piece
  let matched = 0
  for (let at = from; at < end; at += 1) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && unit !== wanted.charCodeAt(matched)) matched = fallback[matched - 1] as number
    if (unit === wanted.charCodeAt(matched)) matched += 1
    if (matched === wanted.length) return at + 1
  }
  return -1
}

function fallbackOf(text: string): Uint16Array {
  const fallback = new Uint16Array(text.length)
  let matched = 0
  for (let at = 1; at < text.length; at += 1) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && unit !== text.charCodeAt(matched)) matched = fallback[matched - 1] as number
    if (unit === text.charCodeAt(matched)) matched += 1
    fallback[at] = matched
  }
  return fallback
}
