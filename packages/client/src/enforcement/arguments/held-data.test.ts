import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { heldData } from './held-data.js'

class Order {
  readonly #secret = 1
  constructor(readonly id: string) {}
  get total(): number {
    return this.#secret
  }
}

function held<Value>(value: Value): () => Value {
  return heldData(value, 'value')
}

describe('what is held', () => {
  it('is a copy that is frozen at every depth', () => {
    const given = {
      order: { id: 'a', lines: [{ amount: 1 }] },
      none: null,
      absent: undefined,
      big: 10n,
      not: Number.NaN,
    }
    const copy = held(given)()
    expect(copy).toEqual(given)
    expect(copy.order).not.toBe(given.order)
    for (const part of [copy, copy.order, copy.order.lines, copy.order.lines[0]])
      expect(Object.isFrozen(part)).toBe(true)
  })

  it('keeps what is undefined in a list, and leaves it out of an object', () => {
    expect(held([undefined, { a: undefined }, 1])()).toStrictEqual([undefined, {}, 1])
  })

  it('gives each use a date of its own', () => {
    const given = { deep: [new Date(5)] }
    const take = held(given)
    const [first, second] = [take(), take()]
    given.deep[0]?.setTime(9)
    first.deep[0]?.setTime(9)
    for (const copy of [second, take()]) expect(copy).toEqual({ deep: [new Date(5)] })
    expect(Object.isFrozen(first.deep)).toBe(true)
  })

  it('takes one object at two places', () => {
    const line = { amount: 1 }
    expect(held({ first: line, second: [line] })()).toEqual({ first: line, second: [line] })
  })

  it('takes objects without a prototype and of other realms', () => {
    const copy = held(Object.assign(Object.create(null), { a: '1' }))()
    expect(copy).toEqual({ a: '1' })
    expect(Object.getPrototypeOf(copy)).toBe(null)
    const foreign = held(runInNewContext('({ a: [1, { b: 2 }] })'))()
    expect(foreign).toStrictEqual({ a: [1, { b: 2 }] })
  })
})

describe('what cannot be held is refused by its path', () => {
  const accessor = Object.defineProperty({}, 'amount', { get: () => Math.random(), enumerable: true })
  const hidden = Object.defineProperty({}, 'amount', { value: 1, enumerable: false })
  const circular: { list: unknown[] } = { list: [] }
  circular.list.push(circular)
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
    ['a map', { map: new Map([['a', 1]]) }, 'value.map is an instance of Map'],
    ['a set', { set: new Set([1]) }, 'value.set is an instance of Set'],
    ['a typed array', [new Uint8Array(1)], 'value.0 is an instance of Uint8Array'],
    ['memory', new ArrayBuffer(1), 'value is an instance of ArrayBuffer'],
    ['shared memory', new SharedArrayBuffer(8), 'value is an instance of SharedArrayBuffer'],
    ['a regular expression', /a/g, 'value is an instance of RegExp'],
    ['a buffer of Node', Buffer.from('a'), 'value is an instance of Buffer'],
    ['a wrapped number', Object(1), 'value is an instance of Number'],
    ['an error', new Error('no'), 'value is an instance of Error'],
    ['a Proxy', new Proxy({ amount: 1 }, {}), 'value cannot be copied'],
    ['a Proxy below', { list: [new Proxy({}, {})] }, 'value cannot be copied'],
    ['a Proxy of an array', new Proxy([1], {}), 'value cannot be copied'],
    ['a Proxy that is revoked', { a: revoked.proxy }, 'proxy'],
    ['a Proxy of a date', new Proxy(new Date(), {}), 'value is an instance of Date'],
    ['what only claims to be a date', Object.create(Date.prototype), 'value is an instance of Date'],
    [
      'a date with a method of its own',
      Object.assign(new Date(), { getTime: () => 0 }),
      'value is an instance of Date',
    ],
    ['a hole', sparse, 'value is an array with holes'],
    ['holes at the end', new Array(3), 'value is an array with holes'],
    ['a list with members', { list: Object.assign([1], { amount: 2 }) }, 'value.list is an array with'],
    ['a member __proto__', JSON.parse('{"a": {"__proto__": {"amount": 1}}}'), 'value.a has a member __proto__'],
    ['what contains itself', circular, 'value.list.0 contains itself'],
  ])('%s', (_what, value, message) => {
    expect(() => held(value)).toThrow(TypeError)
    expect(() => held(value)).toThrow(message)
  })

  it('without running any code of it', () => {
    let runs = 0
    const trap = Object.defineProperty({}, 'a', { get: () => (runs += 1), enumerable: true })
    expect(() => held({ ok: 1, trap })).toThrow('accessor')
    expect(runs).toBe(0)
  })

  it('what stands for more values than fit in memory', () => {
    let doubled: unknown = 1
    for (let i = 0; i < 60; i += 1) doubled = [doubled, doubled]
    expect(() => held(doubled)).toThrow(RangeError)
  })

  it('what is nested without end', () => {
    let deep: unknown = 1
    for (let depth = 0; depth < 200_000; depth += 1) deep = [deep]
    expect(() => held(deep)).toThrow()
  })
})

it('long lists are held', () => {
  const list = Array.from({ length: 100_000 }, (_, index) => index)
  const take = held({ list })
  list[0] = 7
  expect(take().list[0]).toBe(0)
})
