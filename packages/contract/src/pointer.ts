/** Returns the JSON pointer (RFC 6901) of a place: `["a/b", 0]` is `/a~1b/0`, the whole document is `""`. */
export function toPointer(path: readonly PropertyKey[]): string {
  let pointer = ''
  for (const key of path) pointer += `/${typeof key === 'number' ? key : escaped(String(key))}`
  return pointer
}

function escaped(key: string): string {
  return /[~/]/.test(key) ? key.replaceAll('~', '~0').replaceAll('/', '~1') : key
}
