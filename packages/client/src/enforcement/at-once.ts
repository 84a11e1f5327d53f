/**
 * What a function of the caller's gave where a value is needed at once. A promise is refused; what it rejects with later
 * ends no process.
 *
 * @param what names the value in the message
 * @throws TypeError
 */
export function atOnce<Value>(what: string, value: Value): Value {
  const then = typeof value === 'object' && value !== null ? (value as { then?: unknown }).then : undefined
  if (typeof then !== 'function') return value
  Promise.resolve(value).catch(() => undefined)
  throw new TypeError(`${what} has to be given at once, not as a promise`)
}
