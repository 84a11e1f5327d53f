/**
 * Returns the canonical JSON of a value: the same text for any order of its members.
 *
 * As in `JSON.stringify`, undefined and symbol members are left out, and `toJSON` is called.
 *
 * @throws TypeError when the value contains what JSON cannot: a number that is not finite, a lone surrogate, a cycle
 *
 * Source: RFC 8785.
 */
export function canonicalJson(value: unknown): string {
  return textOf(value, [])
}

/** What stands in a JSON string as something else, and what may be half of a surrogate pair. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON escapes control characters.
const SPECIAL = /[\u0000-\u001f"\\\ud800-\udfff]/
const LONE_SURROGATE = /\p{Surrogate}/u

/** @param around the objects that contain the value, outermost first */
function textOf(value: unknown, around: object[]): string {
  if (typeof value === 'string') return stringText(value)
  if (value === null || typeof value === 'boolean' || Number.isFinite(value)) return `${value}`
  if (typeof value !== 'object')
    throw new TypeError(`JSON cannot hold ${typeof value === 'number' ? value : `a ${typeof value}`}.`)
  if (around.includes(value)) throw new TypeError('JSON cannot hold a cycle.')
  around.push(value)
  const text =
    'toJSON' in value && typeof value.toJSON === 'function'
      ? textOf(value.toJSON(), around)
      : Array.isArray(value)
        ? arrayText(value, around)
        : objectText(value as Readonly<Record<string, unknown>>, around)
  around.pop()
  return text
}

function stringText(value: string): string {
  if (!SPECIAL.test(value)) return `"${value}"`
  if (LONE_SURROGATE.test(value)) throw new TypeError('JSON cannot hold a lone surrogate.')
  return JSON.stringify(value)
}

function arrayText(array: readonly unknown[], around: object[]): string {
  let text = ''
  for (const item of array) text += `${text === '' ? '' : ','}${isAbsent(item) ? 'null' : textOf(item, around)}`
  return `[${text}]`
}

function objectText(object: Readonly<Record<string, unknown>>, around: object[]): string {
  let text = ''
  for (const key of Object.keys(object).sort()) {
    const member = object[key]
    if (!isAbsent(member)) text += `${text === '' ? '' : ','}${stringText(key)}:${textOf(member, around)}`
  }
  return `{${text}}`
}

function isAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'symbol'
}
