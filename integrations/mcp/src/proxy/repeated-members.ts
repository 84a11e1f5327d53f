/** Finds object members that a JSON text gives twice. `JSON.parse` takes the last one, a reader perhaps the first. */

/** A string, with the colon that makes it a member's name, or what begins, ends or separates. In valid JSON these stand nowhere else outside strings. */
const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}[\],]/g

interface Open {
  /** Undefined in an array. */
  readonly names?: Set<string>
  /** Of what comes next, or is being read. */
  at: string | number
}

/**
 * The path of each repeated member. Names are compared as JavaScript reads them, so that `"\u0061"` is `"a"`.
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
