/** A text found inside another in linear time, whatever the two hold (Knuth, Morris, Pratt). */
interface Piece {
  readonly units: Uint16Array
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

/** Prepares a pattern to be matched many times. Any text of less than 65,536 characters is a pattern. */
export function compilePattern(source: string): Pattern {
  const parts = source.split('*')
  const prefix = parts[0] as string
  if (parts.length === 1) return { source, prefix, suffix: null, pieces: NO_PIECES }
  const suffix = parts.at(-1) as string
  const inner = parts.slice(1, -1).filter((text) => text !== '')
  return { source, prefix, suffix, pieces: inner.length === 0 ? NO_PIECES : inner.map(compilePiece) }
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

/** A test whether a text matches one of the patterns; no pattern matches nothing. */
export function patternTest(sources: readonly string[]): (text: string) => boolean {
  const patterns = sources.map(compilePattern)
  return (text) => patterns.some((pattern) => matchesPattern(pattern, text))
}

function endOfPiece({ units, fallback }: Piece, text: string, from: number, end: number): number {
  let matched = 0
  for (let at = from; at < end; at += 1) {
    const unit = text.charCodeAt(at)
    while (matched > 0 && unit !== units[matched]) matched = fallback[matched - 1] as number
    if (unit === units[matched]) matched += 1
    if (matched === units.length) return at + 1
  }
  return -1
}

function compilePiece(text: string): Piece {
  const units = Uint16Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
  const fallback = new Uint16Array(units.length)
  let matched = 0
  for (let at = 1; at < units.length; at += 1) {
    while (matched > 0 && units[at] !== units[matched]) matched = fallback[matched - 1] as number
    if (units[at] === units[matched]) matched += 1
    fallback[at] = matched
  }
  return { units, fallback }
}
