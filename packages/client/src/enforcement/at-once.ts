/**
 * The value that a function of the app returned, where no promise can be awaited. A promise that rejects later does not end the process.
 *
 * @param what names the function in the message
 * @throws TypeError for a promise
 */
export function atOnce<Value>(what: string, value: Value): Value {
  const then = typeof value === 'object' && value !== null ? (value as { then?: unknown }).then : undefined
  if (typeof then !== 'function') return value
  Promise.resolve(value).catch(() => undefined)
  throw new TypeError(`${what} must not return a promise`)
}
