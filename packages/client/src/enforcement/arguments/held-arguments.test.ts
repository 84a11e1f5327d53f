import { describe, expect, it } from 'vitest'
import { argumentHolder } from './held-arguments.js'

class Database {
  readonly #rows = [1]
  count(): number {
    return this.#rows.length
  }
}

describe('arguments', () => {
  it('are all held still', () => {
    const order = { id: 'a', at: new Date(1) }
    const held = argumentHolder()([order, 5])
    order.id = 'b'
    order.at.setTime(2)
    expect(held.toMap()).toEqual([{ id: 'a', at: new Date(1) }, 5])
    expect(held.toRun()).toEqual([{ id: 'a', at: new Date(1) }, 5])
  })

  it('that are no data are refused', () => {
    expect(() => argumentHolder()([1, new Database()])).toThrow('arguments.1 is an instance of Database')
  })
})

describe('arguments of which some are bound', () => {
  const database = new Database()
  const onProgress = (): void => undefined

  it('by position: those are held, the others pass through unseen', () => {
    const order = { id: 'a' }
    const held = argumentHolder([1])([database, order, onProgress])
    order.id = 'b'
    expect(held.toMap()).toEqual([undefined, { id: 'a' }, undefined])
    const run = held.toRun()
    expect(run).toEqual([database, { id: 'a' }, onProgress])
    expect(run[0]).toBe(database)
    expect(Object.isFrozen(run[1])).toBe(true)
  })

  it('by path: the members are held in a container of their own, the others pass through unseen', () => {
    const options = { order: { id: 'a', lines: [{ amount: 1 }] }, database, note: 'x' }
    const held = argumentHolder(['0.order', '0.note'])([options])
    options.order.lines[0] = { amount: 1_000 }
    options.note = 'y'
    options.database = new Database()
    expect(held.toMap()).toEqual([{ order: { id: 'a', lines: [{ amount: 1 }] }, note: 'x' }])
    const [run] = held.toRun() as [typeof options]
    expect(run).toEqual({ order: { id: 'a', lines: [{ amount: 1 }] }, database, note: 'x' })
    expect(run.database).toBe(database)
    expect(run.database.count()).toBe(1)
    expect(run).not.toBe(options)
    expect(Object.isFrozen(run)).toBe(true)
  })

  it('by paths into lists', () => {
    const held = argumentHolder(['0.0.id', '0.1'])([[{ id: 'a', database }, 'b', database]])
    expect(held.toMap()).toEqual([[{ id: 'a' }, 'b', undefined]])
    expect(held.toRun()).toEqual([[{ id: 'a', database }, 'b', database]])
  })

  it('cannot gain a member that was bound and absent', () => {
    const options: { amount?: number; database: Database } = { database }
    const held = argumentHolder(['0.amount'])([options])
    options.amount = 1_000_000
    expect(held.toMap()).toEqual([{}])
    expect(held.toRun()).toEqual([{ database }])
  })

  it('may be absent, or be no object where a member is named', () => {
    expect(argumentHolder(['0.amount', 2])([undefined]).toRun()).toEqual([undefined])
    expect(argumentHolder(['0.amount'])([5]).toMap()).toEqual([5])
    expect(argumentHolder([])([database]).toMap()).toEqual([undefined])
  })

  it.each<[string, readonly (string | number)[], readonly unknown[], string]>([
    ['an instance is taken apart', ['0.id'], [new Database()], 'arguments.0'],
    ['a function is taken apart', ['0.id'], [onProgress], 'arguments.0'],
    ['what is bound is no data', ['0.database'], [{ database }], 'arguments.0.database is an instance of Database'],
    [
      'a container has an accessor',
      ['0.a'],
      [Object.defineProperty({ a: 1 }, 'b', { get: () => 1, enumerable: true })],
      'accessor',
    ],
    ['a container has a member __proto__', ['0.a'], [JSON.parse('{"a": 1, "__proto__": {}}')], '__proto__'],
    ['what is bound is a Proxy', [0], [new Proxy({}, {})], 'cannot be copied'],
  ])('are refused when %s', (_what, fields, args, message) => {
    expect(() => argumentHolder(fields)(args)).toThrow(message)
  })

  it.each([
    [['amount']],
    [['-1']],
    [[1.5]],
    [['0.']],
    [['0..a']],
    [['0.__proto__']],
    [[0, '0.a']],
    [['0.a', '0.a']],
    [['0.a.b', '0.a']],
    ['0'],
  ])('cannot be named by %j', (fields) => {
    expect(() => argumentHolder(fields as never)).toThrow(TypeError)
  })
})
