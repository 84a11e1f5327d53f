/** The JSON pointer (RFC 6901) of a place: `["a/b", 0]` is `/a~1b/0`, the whole document is `""`. */
export function toPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}
