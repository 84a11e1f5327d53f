/** UTF-8 to the letter: neither replacement characters nor a byte order mark may hide what was signed. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** A string, with the colon that makes it a member's name, or an object's brace. In valid JSON braces stand nowhere else outside strings. */
const TOKENS = /"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g

/**
 * Reads bytes as one JSON object in which no member, at any depth, is given twice: two readers might take different ones.
 *
 * @throws Error (SyntaxError or TypeError) when they are anything else
 */
export function parseStrictObject(bytes: Uint8Array): { readonly [member: string]: unknown } {
  const text = utf8.decode(bytes)
  const value: unknown = JSON.parse(text)
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new TypeError('It is not an object.')
  assertMembersOnce(text)
  return value as { readonly [member: string]: unknown }
}

/** `text` is valid JSON. Names are compared as JavaScript reads them, so that `"\u0061"` is `"a"`. */
function assertMembersOnce(text: string): void {
  const names: Set<string>[] = []
  for (const [token, colon] of text.matchAll(TOKENS)) {
    if (token === '{') names.push(new Set())
    else if (token === '}') names.pop()
    else if (colon !== undefined) {
      const name = JSON.parse(token.slice(0, -colon.length)) as string
      const object = names.at(-1)
      if (object?.has(name)) throw new SyntaxError(`The member ${name} is repeated.`)
      object?.add(name)
    }
  }
}
