/** The only deep copy: of questions, of arguments of functions and tools, and of what Express has parsed. */

/** What a copy accepts in addition to plain objects, arrays and primitive values, and what it refuses. */
export interface CopyRules {
  /** Is called for each value with its path and the number of objects around it. Throws if the value may not be copied. */
  readonly check?: ((value: unknown, path: string, depth: number) => void) | undefined
  /** Copies an object that is neither a plain object nor an array. Undefined if it may not be copied. */
  readonly copyOther?: ((value: object) => object | undefined) | undefined
  /** Keeps a member `__proto__`, for requests that reach the app as their caller sent them. Default: refused. */
  readonly keepsProto?: true | undefined
}

/** Shared members are copied each time, so a few objects could become more values than fit in memory. */
const MAX_VALUES = 1_000_000

/**
 * Returns a new copy, frozen at every depth. Each member is read once, and no code of the value runs. An object without a
 * prototype stays one. As in JSON, a member that is undefined is left out, and there is one zero.
 *
 * @param path names the value in messages, as in `arguments`
 * @throws TypeError naming the path of anything but plain data: a function, a symbol, an instance of a class, an accessor, a
 * hidden member, a member named by a symbol, a member `__proto__`, an array with holes or extra members, and a circle
 * @throws RangeError if it is nested too deep for the stack, or has more than a million values
 */
export function frozenCopy<Value>(value: Value, path: string, { check, copyOther, keepsProto }: CopyRules = {}): Value {
  const above = new Set<object>()
  let values = 0
  const copyOf = (given: unknown, at: string): unknown => {
    values += 1
    if (values > MAX_VALUES) throw new RangeError(`more than ${MAX_VALUES} values`)
    check?.(given, at, above.size)
    if (typeof given === 'function' || typeof given === 'symbol')
      throw new TypeError(`${at} is a ${typeof given}, not plain data`)
    if (typeof given !== 'object' || given === null) return given === 0 ? 0 : given
    if (above.has(given)) throw new TypeError(`${at} contains itself`)
    const isArray = Array.isArray(given) && Array.isArray(Object.getPrototypeOf(given))
    if (!isArray && !isPlainObject(given)) {
      const copy = copyOther?.(given)
      if (copy === undefined) throw new TypeError(`${at} is ${kindOf(given)}, not plain data`)
      return copy
    }
    above.add(given)
    const copy: object = isArray ? [] : Object.create(Object.getPrototypeOf(given) && Object.prototype)
    for (const [key, member] of membersOf(given, isArray, at)) {
      if (member === undefined && !isArray) continue
      // Code that assigns it, in a copy of an argument, would set the prototype.
      if (key === '__proto__' && !keepsProto) throw new TypeError(`${at} has a member __proto__`)
      Object.defineProperty(copy, key, { value: copyOf(member, `${at}.${key}`), enumerable: true })
    }
    above.delete(given)
    return Object.freeze(copy)
  }
  return copyOf(value, path) as Value
}

/** Made by `{}`, by `Object.create(null)`, or by either in another realm. */
function isPlainObject(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf')
}

function membersOf(value: object, isArray: boolean, path: string): [name: string, member: unknown][] {
  const members: [string, unknown][] = []
  for (const key of Reflect.ownKeys(value)) {
    if (isArray && key === 'length') continue
    if (typeof key === 'symbol') throw new TypeError(`${path} has a member that is named by a symbol`)
    const descriptor = Object.getOwnPropertyDescriptor(value, key)
    if (descriptor === undefined || !('value' in descriptor)) throw new TypeError(`${path}.${key} is an accessor`)
    if (!descriptor.enumerable) throw new TypeError(`${path}.${key} is hidden`)
    if (isArray && key !== String(members.length))
      throw new TypeError(`${path} is an array with holes or extra members`)
    members.push([key, descriptor.value])
  }
  if (isArray && members.length < (value as unknown[]).length) throw new TypeError(`${path} is an array with holes`)
  return members
}

function kindOf(value: object): string {
  const { name } = (Object.getPrototypeOf(value)?.constructor ?? {}) as { name?: unknown }
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'an object with a prototype'
}

/** Freezes parsed JSON at every depth. */
export function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
}
