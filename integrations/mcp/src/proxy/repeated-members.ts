/** Finds members that JSON text repeats within an object. `JSON.parse` takes the last one; a reader may take the first. */

/**
 * A string, with the colon if it is the name of a member, or a bracket or comma. Valid JSON has these nowhere else outside strings.
 */
const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\],]/g

interface Open {
  /** Undefined for an array. */
  readonly names?: Set<string>
  /** The name or index of the next member, or of the one that is being read. */
  at: string | number
}

/**
 * The path of each repeated member. Names are compared as JavaScript reads them: `"\u0061"` is `"a"`.
 *
 * @param text valid JSON
 */
export function repeatedMembers(text: string): (string | number)[][] {
  const open: Open[] = []
  const repeated: (string | number)[][] = []
  for (const [token, colon] of text.matchAll(TOKENS)) {
    const inner = open.at(-1)
    if (token === '{') open.push({ names: new Set(), at: '' })
    else if (token === '[') open.push({ at: 0 })
    else if (token === '}' || token === ']') open.pop()
    else if (token === ',' && typeof inner?.at === 'number') inner.at += 1
    else if (colon !== undefined && inner?.names !== undefined) {
      inner.at = JSON.parse(token.slice(0, -colon.length)) as string
      if (inner.names.has(inner.at)) repeated.push(open.map(({ at }) => at))
      inner.names.add(inner.at)
    }
  }
  return repeated
}
