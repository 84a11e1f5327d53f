/**
 * Arguments as text, to distinguish calls: equal arguments have the same text, in any order of their members. If they cannot
 * be written, as with a circle, the text is different each time.
 */
export function textOfData(data: unknown): string {
  try {
    return JSON.stringify(data, inOrder) ?? 'undefined'
  } catch {
    return crypto.randomUUID()
  }
}

function inOrder(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}
