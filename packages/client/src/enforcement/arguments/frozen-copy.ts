/** The one deep copy: of questions, of the arguments of functions and tools, and of what Express has parsed. */

/** What a copy takes in addition to plain objects, arrays and primitive values, and what it refuses. */
export interface CopyRules {
  /** Called for each value with its path and how many objects are around it. It throws for a value that may not be copied. */
  readonly check?: ((value: unknown, path: string, depth: number) => void) | undefined
  /** Copies an object that is neither a plain object nor an array; undefined for one that may not be copied. */
  readonly copyOther?: ((value: object) => object | undefined) | undefined
  /** Keeps a member `__proto__` as a member, for requests that go on to the app as their caller has sent them. Default: refused. */
  readonly keepsProto?: true | undefined
}

/** Shared members are copied each time, so that a few objects could stand for more values than fit in memory. */
const MAX_VALUES = 1_000_000

interface Progress {
  readonly above: Set<object>
  values: number
}

/**
 * A copy that nobody else has, frozen at every depth. Each member is read once, and no code of the value runs. An object without a
 * prototype stays one. As in JSON, a member that is undefined is left out, and there is one zero.
 *
 * @param path names the value in messages, as in `arguments`
 * @throws TypeError naming the path of what is not plain data: a function, a symbol, an instance of a class, an accessor, a hidden
 * member, a member named by a symbol, a member `__proto__`, an array with holes or members of its own, and what contains itself
 * @throws RangeError when it is nested so deep that the stack ends, or has more than a million values
 */
export function frozenCopy<Value>(value: Value, path: string, rules: CopyRules = {}): Value {
  return copyOf(value, path, rules, { above: new Set(), values: 0 }) as Value
}

function copyOf(value: unknown, path: string, rules: CopyRules, progress: Progress): unknown {
  const { above } = progress
  progress.values += 1
  if (progress.values > MAX_VALUES) throw new RangeError(`more than ${MAX_VALUES} values`)
  rules.check?.(value, path, above.size)
  if (typeof value === 'function' || typeof value === 'symbol')
    throw new TypeError(`${path} is a ${typeof value}, not plain data`)
  if (typeof value !== 'object' || value === null) return value === 0 ? 0 : value
  if (above.has(value)) throw new TypeError(`${path} contains itself`)
  const isArray = Array.isArray(value) && Array.isArray(Object.getPrototypeOf(value))
  if (!isArray && !isPlainObject(value)) {
    const copy = rules.copyOther?.(value)
    if (copy === undefined) throw new TypeError(`${path} is ${kindOf(value)}, not plain data`)
    return copy
  }
  above.add(value)
  const copy: Record<string, unknown> = isArray
    ? ([] as never)
    : Object.create(Object.getPrototypeOf(value) && Object.prototype)
  for (const [key, member] of membersOf(value, isArray, path)) {
    if (member === undefined && !isArray) continue
    // Assigned by whoever copies an argument, it would become the prototype.
    if (key === '__proto__' && !rules.keepsProto) throw new TypeError(`${path} has a member __proto__`)
    const held = copyOf(member, `${path}.${key}`, rules, progress)
    Object.defineProperty(copy, key, { value: held, enumerable: true })
  }
  above.delete(value)
  return Object.freeze(copy)
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
      throw new TypeError(`${path} is an array with holes or with members of its own`)
    members.push([key, descriptor.value])
  }
  if (isArray && members.length < (value as unknown[]).length) throw new TypeError(`${path} is an array with holes`)
  return members
}

function kindOf(value: object): string {
  const { name } = (Object.getPrototypeOf(value)?.constructor ?? {}) as { name?: unknown }
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'an object with a prototype'
}

/** Freezes what JSON was parsed to, at every depth. */
export function deepFreeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  Object.freeze(value)
  for (const member of Object.values(value)) deepFreeze(member)
}
