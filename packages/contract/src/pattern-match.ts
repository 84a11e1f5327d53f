/**
 * Pieces up to this length are searched natively: that is several times faster, and takes at most this many steps per
 * character. V8 is linear up to 250 characters; above that it takes 30 times as long for hostile texts.
 */
const NATIVE_LENGTH = 128

/** A text to find inside another in linear time, whatever the two contain. */
interface Piece {
  readonly text: string
  /** Null for a piece that is searched natively; for longer ones see {@link fallbackOf}. */
  readonly fallback: Uint16Array | null
}

/** A compiled pattern: `*` matches any number of characters, including none. No other character is special. */
export interface Pattern {
  readonly source: string
  /** The text before the first `*`; the whole pattern when it has none. */
  readonly prefix: string
  /** The text after the last `*`; null when the pattern has no `*` and matches only itself. */
  readonly suffix: string | null
  /** The texts that must occur in between, in this order. */
  readonly pieces: readonly Piece[]
}

/** Shared by all patterns without pieces, because there are many. */
const NO_PIECES: readonly Piece[] = []

/** Prepares a pattern for many matches. Any text of less than 65,536 characters is a pattern. */
export function compilePattern(source: string): Pattern {
  const parts = source.split('*')
  const prefix = parts[0] as string
  if (parts.length === 1) return { source, prefix, suffix: null, pieces: NO_PIECES }
  const suffix = parts.at(-1) as string
  const inner = parts.slice(1, -1).filter((text) => text !== '')
  return { source, prefix, suffix, pieces: inner.length === 0 ? NO_PIECES : inner.map(compilePiece) }
}

/** Whether the whole text matches, in time linear in both lengths. Case-sensitive; characters are UTF-16 code units. */
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

/** Returns a test whether a text matches one of the patterns; an empty list matches nothing. */
export function patternTest(sources: readonly string[]): (text: string) => boolean {
  const patterns = sources.map(compilePattern)
  return (text) => patterns.some((pattern) => matchesPattern(pattern, text))
}

/** Returns where the piece's first occurrence at or after `from` ends, at most at `end`; -1 when there is none. */
function endOfPiece({ text: piece, fallback }: Piece, text: string, from: number, end: number): number {
  if (fallback !== null) return endOfLongPiece(piece, fallback, text, from, end)
  const found = text.indexOf(piece, from)
  return found === -1 || found + piece.length > end ? -1 : found + piece.length
}

/** Knuth, Morris and Pratt. */
function endOfLongPiece(piece: string, fallback: Uint16Array, text: string, from: number, end: number): number {
  let matched = 0
  for (let at = from; at < end; at += 1) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && unit !== piece.charCodeAt(matched)) matched = fallback[matched - 1] as number
    if (unit === piece.charCodeAt(matched)) matched += 1
    if (matched === piece.length) return at + 1
  }
  return -1
}

function compilePiece(text: string): Piece {
  return { text, fallback: text.length > NATIVE_LENGTH ? fallbackOf(text) : null }
}

/**
 * For each position, the length of the longest proper prefix that ends there: where matching resumes after a mismatch.
 */
function fallbackOf(piece: string): Uint16Array {
  const fallback = new Uint16Array(piece.length)
  let matched = 0
  for (let at = 1; at < piece.length; at += 1) {
    const unit = piece.charCodeAt(at)
    while (matched > 0 && unit !== piece.charCodeAt(matched)) matched = fallback[matched - 1] as number
    if (unit === piece.charCodeAt(matched)) matched += 1
    fallback[at] = matched
  }
  return fallback
}
