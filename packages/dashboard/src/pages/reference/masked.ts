/** The members of a response that a page must never show. */
const SECRETS = new Set(['permit_token', 'key', 'secret'])
const MASK = '••••••••'

/** Returns the value with each permit, key and secret in it replaced, at any depth. */
export function masked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(masked)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, SECRETS.has(name) && member !== null ? MASK : masked(member)]),
  )
}

/** Whether the value contains a replaced member. */
export function hasMasked(value: unknown): boolean {
  return JSON.stringify(value)?.includes(`"${MASK}"`) === true
}
