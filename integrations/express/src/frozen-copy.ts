/**
 * Holds still what parsers make of JSON, forms, queries and paths. Unlike arguments that the client holds, this goes on to be
 * `req.body` and `req.query` of the app: without a prototype where it had none, the same object at each reading, and with
 * every member that the caller has sent.
 */

/**
 * A copy that nobody else knows, frozen at every depth. Objects without a prototype stay so, and a member `__proto__` stays
 * a member.
 *
 * @throws TypeError naming the place of what freezing does not hold still: bytes, dates, maps, functions, instances of
 * classes, accessors, hidden members, members named by symbols, and what contains itself
 * @throws RangeError when it is nested so deep that the stack ends
 */
export function frozenCopy<Value>(value: Value, place: string): Value {
  return copyOf(value, place, new Set()) as Value
}

function copyOf(value: unknown, place: string, above: Set<object>): unknown {
  if (typeof value === 'function') throw new TypeError(`${place} is a function`)
  if (typeof value !== 'object' || value === null) return value
  if (above.has(value)) throw new TypeError(`${place} contains itself`)
  const copy = emptyLike(value, place)
  above.add(value)
  for (const key of Reflect.ownKeys(value)) {
    if (key === 'length' && Array.isArray(value)) continue
    const descriptor = Object.getOwnPropertyDescriptor(value, key)
    if (typeof key === 'symbol' || !descriptor?.enumerable || !('value' in descriptor)) {
      throw new TypeError(`${place}.${String(key)} is no plain member`)
    }
    const member = copyOf(descriptor.value, `${place}.${key}`, above)
    // An assignment would change the prototype.
    if (key === '__proto__') Object.defineProperty(copy, key, { value: member, enumerable: true })
    else copy[key] = member
  }
  above.delete(value)
  return Object.freeze(copy)
}

function emptyLike(value: object, place: string): Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value)
  if (Array.isArray(value) && prototype === Array.prototype) return new Array(value.length) as never
  if (prototype === Object.prototype || prototype === null) return Object.create(prototype)
  throw new TypeError(`${place} is no plain object`)
}
