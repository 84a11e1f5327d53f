/** As wide as an editor is beside its form. */
const WIDTH = 52
const STEP = '  '

/**
 * JSON as people write policies: what fits into a line stands in one.
 *
 * @param used how much of the first line is taken
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

/** The members of a whole document have lines of their own. */
function isOuter(value: object, indent: string): boolean {
  return indent === '' && !Array.isArray(value)
}

function oneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(oneLine).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${oneLine(item)}`)
  return `{${members.join(', ')}}`
}
