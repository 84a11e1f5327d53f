import { describe, expect, it } from 'vitest'
import { argumentHolder } from './held-arguments.js'

class Database {
  readonly #rows = [1]
  count(): number {
    return this.#rows.length
  }
}

describe('arguments', () => {
  it('are all held', () => {
    const order = { id: 'a', at: new Date(1) }
    const held = argumentHolder()([order, 5])
    order.id = 'b'
    order.at.setTime(2)
    expect(held.toMap()).toEqual([{ id: 'a', at: new Date(1) }, 5])
    expect(held.toRun()).toEqual([{ id: 'a', at: new Date(1) }, 5])
  })

  it('that are not data are refused', () => {
    expect(() => argumentHolder()([1, new Database()])).toThrow('arguments.1 is an instance of Database')
  })
})

describe('arguments of which some are bound', () => {
  const database = new Database()
  const onProgress = (): void => undefined

  it('are held at those positions; the others pass through unseen', () => {
    const order = { id: 'a' }
    const held = argumentHolder([1])([database, order, onProgress])
    order.id = 'b'
    expect(held.toMap()).toEqual([undefined, { id: 'a' }, undefined])
    const run = held.toRun()
    expect(run).toEqual([database, { id: 'a' }, onProgress])
    expect(run[0]).toBe(database)
    expect(Object.isFrozen(run[1])).toBe(true)
  })

  it('may be absent', () => {
    expect(argumentHolder([0, 2])([undefined]).toRun()).toEqual([undefined])
    expect(argumentHolder([])([database]).toMap()).toEqual([undefined])
    expect(argumentHolder([])([database]).toRun()).toEqual([database])
  })

  it.each<[string, readonly unknown[], string]>([
    ['not data', [{ database }], 'arguments.0.database is an instance of Database'],
    ['a Proxy', [new Proxy({}, {})], 'cannot be copied'],
  ])('are refused when what is bound is %s', (_what, args, message) => {
    expect(() => argumentHolder([0])(args)).toThrow(message)
  })

  it.each([['amount'], ['0'], ['0.amount'], [1.5], [-1], [null]])('cannot be named by %j', (position) => {
    expect(() => argumentHolder([position] as never)).toThrow('bind must be a list of positions')
    expect(() => argumentHolder(position as never)).toThrow(TypeError)
  })
})
