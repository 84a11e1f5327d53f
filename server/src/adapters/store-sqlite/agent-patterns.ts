/**
 * A test whether a text matches one of the patterns, in which `*` is any run of characters and nothing else is special.
 * Linear in the lengths of the two, whatever they hold.
 */
export function patternTest(patterns: readonly string[]): (text: string) => boolean {
  const compiled = patterns.map(compile)
  return (text) => compiled.some((pattern) => matches(pattern, text))
}

interface Piece {
  readonly text: string
  /** For each position, the length of the longest proper prefix that ends there. */
  readonly fallback: readonly number[]
}

interface Pattern {
  /** The text before the first `*`; the whole pattern when it has none. */
  readonly first: string
  /** What has to occur in between, in this order. */
  readonly pieces: readonly Piece[]
  /** The text after the last `*`, null when there is no `*`. */
  readonly last: string | null
}

function compile(pattern: string): Pattern {
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop() ?? null
  return { first, last, pieces: others.map((text) => ({ text, fallback: fallbackOf(text) })) }
}

function matches({ first, pieces, last }: Pattern, text: string): boolean {
  if (last === null) return text === first
  const end = text.length - last.length
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  for (const piece of pieces) {
    from = endOf(piece, text, from, end)
    if (from === -1) return false
  }
  return true
}

/** Where the first occurrence of the piece ends (Knuth, Morris and Pratt), -1 when there is none. */
function endOf({ text: piece, fallback }: Piece, text: string, from: number, end: number): number {
  if (piece === '') return from
  let matched = 0
  for (let at = from; at < end; at += 1) {
    matched = step(piece, fallback, matched, text.charCodeAt(at))
    if (matched === piece.length) return at + 1
  }
  return -1
}

function fallbackOf(piece: string): readonly number[] {
  const fallback = [0]
  for (let at = 1; at < piece.length; at += 1) {
    fallback.push(step(piece, fallback, fallback[at - 1] as number, piece.charCodeAt(at)))
  }
  return fallback
}

function step(piece: string, fallback: readonly number[], matchedBefore: number, unit: number): number {
  let matched = matchedBefore
  while (matched > 0 && piece.charCodeAt(matched) !== unit) matched = fallback[matched - 1] as number
  return piece.charCodeAt(matched) === unit ? matched + 1 : matched
}
