/** The width of an editor beside its form, in characters. */
const WIDTH = 52
const STEP = '  '

/**
 * Formats JSON as people write policies: a value that fits on one line stays on one line.
 *
 * @param used how many characters of the first line are taken
 */
export function prettyJson(value: unknown, indent = '', used = indent.length): string {
  const short = oneLine(value)
  const isContainer = typeof value === 'object' && value !== null
  if (!isContainer || (used + short.length <= WIDTH && !isOuter(value, indent))) return short
  const inner = indent + STEP
  const lines = Array.isArray(value)
    ? value.map((item) => prettyJson(item, inner))
    : Object.entries(value).map(([key, item]) => {
        const name = `${JSON.stringify(key)}: `
        return name + prettyJson(item, inner, inner.length + name.length)
      })
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (lines.length === 0) return short
  return `${open}\n${lines.map((line) => inner + line).join(',\n')}\n${indent}${close}`
}

/** Each member of the outermost object has its own line. */
function isOuter(value: object, indent: string): boolean {
  return indent === '' && !Array.isArray(value)
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${oneLine(item)}`)
  return `{${members.join(', ')}}`
}
