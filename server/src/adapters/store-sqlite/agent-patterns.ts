/**
 * Whether a text matches one of the patterns, in which `*` is any run of characters and nothing else is special.
 * Linear in the lengths of the two, whatever they hold.
 */
export function matchesAnyPattern(patterns: readonly string[], text: string): boolean {
  return patterns.some((pattern) => matches(pattern, text))
}

function matches(pattern: string, text: string): boolean {
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop()
  if (last === undefined) return text === first
  const end = text.length - last.length
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return false
  let from = first.length
  for (const piece of others) {
    from = endOf(piece, text, from, end)
    if (from === -1) return false
  }
  return true
}

/** Where the first occurrence of the piece ends (Knuth, Morris and Pratt), -1 when there is none. */
function endOf(piece: string, text: string, from: number, end: number): number {
  if (piece === '') return from
  const fallback = fallbackOf(piece)
  let matched = 0
  for (let at = from; at < end; at += 1) {
    matched = step(piece, fallback, matched, text.charCodeAt(at))
    if (matched === piece.length) return at + 1
  }
  return -1
}

/** For each position, the length of the longest proper prefix that ends there. */
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
