import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { deepFreeze, HeldData } from './held-data.js'

class Order {
  readonly #secret = 1
  constructor(readonly id: string) {}
  get total(): number {
    return this.#secret
  }
}

function held<Value>(value: Value): HeldData<Value> {
  return new HeldData(value, 'value')
}

describe('what is held still', () => {
  it('is a copy that is frozen at every depth', () => {
    const given = { order: { id: 'a', lines: [{ amount: 1 }] }, none: null, absent: undefined, big: 10n }
    const copy = held(given).take()
    expect(copy).toEqual(given)
    expect(copy.order).not.toBe(given.order)
    for (const part of [copy, copy.order, copy.order.lines, copy.order.lines[0]])
      expect(Object.isFrozen(part)).toBe(true)
  })

  it('is the same for every use where freezing holds it', () => {
    const data = held({ a: [1] })
    expect(data.take()).toBe(data.take())
  })

  it.each([
    ['a date', () => new Date(5), (date: Date) => date.setTime(9)],
    ['a map', () => new Map([['a', { b: 1 }]]), (map: Map<string, unknown>) => map.set('a', 2)],
    ['a set', () => new Set([1]), (set: Set<number>) => set.clear()],
    ['a typed array', () => new Uint8Array([1, 2]), (bytes: Uint8Array) => bytes.fill(9)],
    ['memory', () => new Uint8Array([1, 2]).buffer, (memory: ArrayBuffer) => new Uint8Array(memory).fill(9)],
    ['a view', () => new DataView(new ArrayBuffer(4)), (view: DataView) => view.setInt8(0, 9)],
    ['a regular expression', () => /a/g, (expression: RegExp) => void expression.exec('aa')],
  ])('gives each use %s of its own', (_what, make, change) => {
    const given = { deep: [make()] }
    const data = held(given)
    const first = data.take()
    change(given.deep[0] as never)
    change(first.deep[0] as never)
    expect(data.take()).toEqual({ deep: [make()] })
    expect(data.take().deep[0]).not.toBe(first.deep[0])
    expect(Object.isFrozen(first.deep)).toBe(true)
  })

  it('freezes what is in a map and a set, and their keys', () => {
    const key = { k: 1 }
    const copy = held(new Map([[key, new Set([{ s: 1 }])]])).take()
    const [[copiedKey, set] = []] = copy
    expect([...(set ?? [])].every(Object.isFrozen)).toBe(true)
    expect(Object.isFrozen(copiedKey)).toBe(true)
    expect(copiedKey).not.toBe(key)
  })

  it('keeps what is circular circular', () => {
    const given: { self?: unknown; date: Date } = { date: new Date(1) }
    given.self = given
    const copy = held(given).take()
    expect(copy.self).toBe(copy)
  })

  it('takes objects without a prototype and of other realms', () => {
    const query = Object.assign(Object.create(null), { a: '1' })
    expect(held(query).take()).toEqual({ a: '1' })
    const foreign = runInNewContext('({ a: [1, { b: 2 }] })')
    expect(JSON.stringify(held(foreign).take())).toBe('{"a":[1,{"b":2}]}')
  })

  it('freezes even beside what cannot be frozen', () => {
    const value = { date: new Date(), later: {} }
    expect(deepFreeze(value)).toBe(false)
    expect(Object.isFrozen(value.later)).toBe(true)
  })
})

describe('what cannot be held still is refused by its place', () => {
  const accessor = Object.defineProperty({}, 'amount', { get: () => Math.random(), enumerable: true })
  const hidden = Object.defineProperty({}, 'amount', { value: 1, enumerable: false })
  const shared = new SharedArrayBuffer(8)
  const disguised = Object.defineProperty(new Uint8Array(shared), 'buffer', { value: new ArrayBuffer(8) })
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const sparse = [1, 2, 3]
  delete sparse[1]

  it.each<[string, unknown, string]>([
    ['a function', () => 1, 'value is a function'],
    ['a method', { a: { run() {} } }, 'value.a.run is a function'],
    // biome-ignore lint/suspicious/noThenProperty: an argument that would be awaited
    ['a thenable', { then: () => undefined }, 'value.then is a function'],
    ['its own toJSON', { amount: 1, toJSON: () => ({ amount: 0 }) }, 'value.toJSON is a function'],
    ['a promise', Promise.resolve(1), 'an instance of Promise'],
    ['a symbol', { a: Symbol('a') }, 'value.a is a symbol'],
    ['a member named by a symbol', { [Symbol('a')]: 1 }, 'named by a symbol'],
    ['an accessor', { deep: accessor }, 'value.deep.amount is an accessor'],
    ['a hidden member', hidden, 'value.amount is hidden'],
    ['an instance of a class', { order: new Order('a') }, 'value.order is an instance of Order'],
    ['what inherits', Object.create({ amount: 1 }), 'value is'],
    ['an array of a class', new (class Amounts extends Array {})(), 'value is an instance of Amounts'],
    ['a map of a class', new (class Amounts extends Map {})(), 'value is an instance of Amounts'],
    ['a buffer of Node', Buffer.from('a'), 'value is an instance of Buffer'],
    ['a wrapped number', Object(1), 'value is an instance of Number'],
    ['an error', new Error('no'), 'value is an instance of Error'],
    ['a weak map', new WeakMap(), 'value is an instance of WeakMap'],
    ['a Proxy', new Proxy({ amount: 1 }, {}), 'value cannot be copied'],
    ['a Proxy below', { list: [new Proxy({}, {})] }, 'value cannot be copied'],
    ['a Proxy of an array', new Proxy([1], {}), 'value cannot be copied'],
    ['a Proxy of a date', new Proxy(new Date(), {}), 'value is'],
    ['what only claims to be a date', Object.create(Date.prototype), 'value is an instance of Date'],
    ['shared memory', shared, 'value is'],
    ['a view on shared memory', new Uint8Array(shared), 'value is an instance of Uint8Array'],
    ['a view that hides its shared memory', disguised, 'value is an instance of Uint8Array'],
    [
      'a date with a method of its own',
      Object.assign(new Date(), { getTime: () => 0 }),
      'a member of its own, getTime',
    ],
    ['a date with a member', Object.assign(new Date(), { zone: 'x' }), 'a member of its own, zone'],
    ['a hole', sparse, 'value is an array with holes'],
    ['holes at the end', new Array(3), 'value is an array with holes'],
    ['a member __proto__', JSON.parse('{"a": {"__proto__": {"amount": 1}}}'), 'value.a has a member __proto__'],
    ['a function in a map', new Map([['a', () => 1]]), 'a value of value is a function'],
    ['a function in a set', new Set([() => 1]), 'a member of value is a function'],
  ])('%s', (_what, value, message) => {
    expect(() => held(value)).toThrow(TypeError)
    expect(() => held(value)).toThrow(message)
  })

  it('a Proxy that is revoked', () => {
    expect(() => held({ a: revoked.proxy })).toThrow(TypeError)
  })

  it('without running any code of it', () => {
    let runs = 0
    const trap = Object.defineProperty({}, 'a', { get: () => (runs += 1), enumerable: true })
    expect(() => held({ ok: 1, trap })).toThrow('accessor')
    expect(runs).toBe(0)
  })

  it('what is nested without end', () => {
    let deep: unknown = 1
    for (let depth = 0; depth < 200_000; depth += 1) deep = [deep]
    expect(() => held(deep)).toThrow()
  })
})

it('a million numbers are held', () => {
  const bytes = new Float64Array(1_000_000)
  const data = held({ bytes, list: Array.from({ length: 100_000 }, (_, index) => index) })
  bytes.fill(7)
  expect(data.take().bytes[0]).toBe(0)
})
