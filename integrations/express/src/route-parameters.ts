/** Finds the parameters in the path of a route or a mount, whether or not a request gives each. */

/** Names as Express 5 reads them: plain or in quotes, after `:` or `*`; a backslash makes either literal. */
const PARAMETER = /\\.|[:*](?:"((?:\\.|[^"\\])+)"|([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*))/gsu

/** Splits a list of paths. */
export function pathsOf(path: unknown): readonly unknown[] {
  return Array.isArray(path) ? path.flat(Number.POSITIVE_INFINITY) : [path]
}

export function parametersOf(path: unknown): ReadonlySet<string> {
  if (path instanceof RegExp) return groupsOf(path)
  const names = [...String(path).matchAll(PARAMETER)].map(
    ([, quoted, plain]) => quoted?.replace(/\\(.)/gs, '$1') ?? plain,
  )
  return new Set(names.filter((name) => name !== undefined))
}

/** Named groups by their name, others by their number. */
function groupsOf({ source, flags }: RegExp): ReadonlySet<string> {
  // With an empty alternative it matches the empty text, and still has all its groups.
  const match = new RegExp(`${source}|`, flags.replaceAll(/[gy]/g, '')).exec('')
  const named = Object.keys(match?.groups ?? {})
  const numbered = Array.from({ length: (match?.length ?? 1) - 1 - named.length }, (_none, index) => String(index))
  return new Set([...named, ...numbered])
}
