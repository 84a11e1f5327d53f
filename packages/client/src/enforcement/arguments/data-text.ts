/**
 * Arguments as text, to tell calls apart: equal arguments have the same text, whatever the order of their members. What cannot be
 * written, such as something circular, has another text each time.
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
