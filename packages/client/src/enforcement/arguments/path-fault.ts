/** Resources that are paths: a rule about one path must not match another one, such as with `..`. */

const ESCAPES = /(?:%[0-9a-f]{2})+/gi
/** The number of escapes within escapes. */
const MAX_DECODINGS = 4
const URL_START = /^[A-Za-z][A-Za-z0-9+.-]+:\/\//

/**
 * What is wrong with a resource as a path, in words; undefined if nothing is. The `://` of a URL is allowed, and so are empty
 * segments and encoded slashes after its `?`.
 */
export function faultOfPath(resource: string): string | undefined {
  const given = resource.slice(resource.indexOf(':') + 1)
  const decoded = decodedText(given)
  if (decoded === undefined) return 'has percent escapes that are not UTF-8, or are nested too deeply'
  // Some servers and systems strip spaces, quotes, invisible characters and further dots around it.
  if (
    pathIn(decoded)
      .split(/[/\\]/)
      .some((segment) => /^[\s\p{C}"'`.]*\.[\s\p{C}"'`.]*$/u.test(segment))
  )
    return 'has a path segment that consists only of dots, such as `..`'
  const isUrl = URL_START.test(given)
  const [named = ''] = isUrl ? given.replace(URL_START, '').split(/[?#]/) : [given]
  const decodedName = decodedText(named) ?? ''
  if (pathIn(decodedName).includes('//')) return 'has an empty path segment, `//`'
  if (slashesIn(decodedName) > slashesIn(named)) return 'has an encoded slash, such as `%2f`'
  return undefined
}

/** Some servers read look-alikes as slashes, and ignore the rest of a segment after a semicolon. */
function pathIn(decoded: string): string {
  return decoded
    .replace(/[⁄∕⧸]/g, '/')
    .replace(/[∖⧵]/g, '\\')
    .replace(/;[^/\\]*/g, '')
}

function slashesIn(text: string): number {
  return text.match(/[/\\]/g)?.length ?? 0
}

/** The text as a server reads it that decodes it, even if it was encoded several times. Undefined if servers could differ. */
function decodedText(text: string): string | undefined {
  try {
    let read = text.normalize('NFKC')
    for (let round = 0; round < MAX_DECODINGS; round += 1)
      read = read.replace(ESCAPES, (escapes) => decodeURIComponent(escapes)).normalize('NFKC')
    return read.search(ESCAPES) === -1 ? read : undefined
  } catch {
    return undefined
  }
}
