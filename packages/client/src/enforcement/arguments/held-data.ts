/**
 * Holds data still: what is mapped to a question has to be what the action is given, whatever happens to the caller's
 * objects in between. Freezing them would not do: a Map, a Date or a typed array changes all the same. So a copy is taken
 * that nobody else knows, and each use is given a frozen copy of that.
 */

const byteLength = getterOf(ArrayBuffer.prototype, 'byteLength')
const TYPED_ARRAYS = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
]

/**
 * What data may be made of beside plain objects and arrays: by its prototype, and by a call that throws unless it really is
 * that. Memory that other threads can write to throws too.
 */
const BUILT_IN: ReadonlyMap<object, (value: object) => unknown> = new Map<object, (value: object) => unknown>([
  [Date.prototype, (value) => Date.prototype.getTime.call(value)],
  [RegExp.prototype, getterOf(RegExp.prototype, 'source')],
  [Map.prototype, getterOf(Map.prototype, 'size')],
  [Set.prototype, getterOf(Set.prototype, 'size')],
  [ArrayBuffer.prototype, byteLength],
  [DataView.prototype, ofOwnMemory(getterOf(DataView.prototype, 'buffer'))],
  ...TYPED_ARRAYS.map(
    ({ prototype }) => [prototype, ofOwnMemory(getterOf(Object.getPrototypeOf(prototype), 'buffer'))] as const,
  ),
])

/** Data that nobody can reach any more. */
export class HeldData<Value> {
  readonly #master: Value
  readonly #isFrozenWhole: boolean

  /**
   * Copies `value`; `name` says in messages what it is.
   *
   * @throws TypeError naming the place of what is not data: a function, an accessor, a symbol, an instance of a class, a
   * Proxy, memory that is shared, a hidden member, a hole in an array, a member `__proto__`
   */
  constructor(value: Value, name: string) {
    assertData(value, name, new Set())
    try {
      // Knows a Proxy, which nothing else can tell from data.
      this.#master = structuredClone(value)
    } catch (error) {
      throw new TypeError(`${name} cannot be copied`, { cause: error })
    }
    this.#isFrozenWhole = deepFreeze(this.#master)
  }

  /** For one use: frozen as far as its values can be, and shared with no other use where they cannot. */
  take(): Value {
    if (this.#isFrozenWhole) return this.#master
    const copy = structuredClone(this.#master)
    deepFreeze(copy)
    return copy
  }
}

/** Freezes plain objects and arrays at every depth; false when there is something in it that freezing does not hold. */
export function deepFreeze(value: unknown, seen: Set<object> = new Set()): boolean {
  if (typeof value !== 'object' || value === null || seen.has(value)) return true
  seen.add(value)
  if (value instanceof Map || value instanceof Set) {
    for (const member of [...value.keys(), ...value.values()]) deepFreeze(member, seen)
    return false
  }
  if (!isPlainArray(value) && !isPlainObject(value)) return false
  Object.freeze(value)
  // Each is frozen, also after one that cannot be.
  return Object.values(value).reduce<boolean>((isWhole, member) => deepFreeze(member, seen) && isWhole, true)
}

/** Made by `{}`, by `Object.create(null)`, or by either in another realm. */
export function isPlainObject(value: object): boolean {
  const prototype: object | null = Object.getPrototypeOf(value)
  if (prototype === null || prototype === Object.prototype) return true
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype, 'isPrototypeOf')
}

/**
 * The members of a plain object or an array, without running any code of it, where each is a value to be seen by all.
 *
 * @throws TypeError naming the member that is not
 */
export function membersOf(value: object, place: string): [name: string, member: unknown][] {
  const isArray = Array.isArray(value)
  const members: [string, unknown][] = []
  for (const key of Reflect.ownKeys(value)) {
    if (isArray && key === 'length') continue
    if (typeof key === 'symbol') throw new TypeError(`${place} has a member that is named by a symbol`)
    if (key === '__proto__') throw new TypeError(`${place} has a member __proto__`)
    const descriptor = Object.getOwnPropertyDescriptor(value, key)
    if (descriptor === undefined || !('value' in descriptor)) throw new TypeError(`${place}.${key} is an accessor`)
    if (!descriptor.enumerable) throw new TypeError(`${place}.${key} is hidden`)
    members.push([key, descriptor.value])
  }
  if (
    isArray &&
    (members.length < value.length || members.slice(0, value.length).some(([key], index) => key !== String(index)))
  ) {
    throw new TypeError(`${place} is an array with holes`)
  }
  return members
}

function assertData(value: unknown, place: string, seen: Set<object>): void {
  if (typeof value === 'function') throw new TypeError(`${place} is a function`)
  if (typeof value === 'symbol') throw new TypeError(`${place} is a symbol`)
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  seen.add(value)
  if (isPlainArray(value) || isPlainObject(value)) {
    for (const [key, member] of membersOf(value, place)) assertData(member, `${place}.${key}`, seen)
    return
  }
  assertBuiltIn(value, place)
  if (value instanceof Map) {
    for (const [key, member] of value) {
      assertData(key, `a key of ${place}`, seen)
      assertData(member, `a value of ${place}`, seen)
    }
  }
  if (value instanceof Set) for (const member of value) assertData(member, `a member of ${place}`, seen)
}

function assertBuiltIn(value: object, place: string): void {
  const use = BUILT_IN.get(Object.getPrototypeOf(value))
  if (use === undefined || !succeeds(() => use(value))) {
    throw new TypeError(`${place} is ${kindOf(value)}, which cannot be copied and held still`)
  }
  // What a typed array has beside its numbers is not looked for: there may be millions of them, and a copy has only those.
  if (ArrayBuffer.isView(value)) return
  const added = Reflect.ownKeys(value).find((key) => !(value instanceof RegExp && key === 'lastIndex'))
  if (added === undefined) return
  throw new TypeError(`${place} has a member of its own, ${String(added)}, which a copy would lose`)
}

/** An instance of a class derived from Array has a prototype that is no array. */
export function isPlainArray(value: object): value is unknown[] {
  return Array.isArray(value) && Array.isArray(Object.getPrototypeOf(value))
}

function kindOf(value: object): string {
  const { name } = (Object.getPrototypeOf(value)?.constructor ?? {}) as { name?: unknown }
  return typeof name === 'string' && name !== '' ? `an instance of ${name}` : 'no plain object'
}

/** Unlike reading the member, it sees through nothing: it throws for whatever is not the real thing. */
function getterOf(prototype: object, name: string): (value: object) => unknown {
  const get = Object.getOwnPropertyDescriptor(prototype, name)?.get
  return (value) => get?.call(value)
}

function ofOwnMemory(bufferOf: (value: object) => unknown): (value: object) => unknown {
  return (value) => byteLength(bufferOf(value) as object)
}

function succeeds(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch {
    return false
  }
}
