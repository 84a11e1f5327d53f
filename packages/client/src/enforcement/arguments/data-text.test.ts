import { describe, expect, it } from 'vitest'
import { textOfData } from './data-text.js'

describe('the text of arguments', () => {
  it('is the same for equal ones, whatever the order of members at any depth', () => {
    expect(textOfData([{ b: 1, a: { d: 2, c: [3] } }])).toBe(textOfData([{ a: { c: [3], d: 2 }, b: 1 }]))
  })

  it.each([
    [[1], ['1']],
    [[1n], [2n]],
    [[new Date(0)], [new Date(1)]],
    [[{ a: 1 }], [{ a: 1, b: null }]],
    [
      [1, 2],
      [2, 1],
    ],
  ])('differs for %o and %o', (one, other) => {
    expect(textOfData(one)).not.toBe(textOfData(other))
  })

  it('differs each time for what cannot be written', () => {
    const circular: unknown[] = []
    circular.push(circular)
    expect(textOfData(circular)).not.toBe(textOfData(circular))
  })
})
