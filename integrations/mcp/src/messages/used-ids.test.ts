import { describe, expect, it } from 'vitest'
import { UsedIds } from './used-ids.js'

describe('ids that were used', () => {
  it('are new once, whatever their length', () => {
    const ids = new UsedIds()
    const long = 'x'.repeat(65)
    for (const id of [2, 1, '1', -1, 'a', long, `${long}y`])
      expect([ids.isNew(id), ids.isNew(id)]).toEqual([true, false])
  })

  it('are not taken for new once older ones were forgotten, but for those that count up', () => {
    const ids = new UsedIds()
    for (let id = 0; id <= 1_000; id += 1) expect(ids.isNew(`id ${id}`)).toBe(true)
    expect(['another', 'id 0', 'id 1000'].map((id) => ids.isNew(id))).toEqual([false, false, false])
    expect([7, 7, 6, 8].map((id) => ids.isNew(id))).toEqual([true, false, true, true])
    for (let id = 9; id <= 1_010; id += 1) expect(ids.isNew(id)).toBe(true)
    expect([7, 5, 1_011].map((id) => ids.isNew(id))).toEqual([false, false, true])
  })

  it('can be answered once more if they are among the newest 1,000', () => {
    const ids = new UsedIds()
    for (const id of [1, 'a']) ids.isNew(id)
    expect([1, 'a', 0, '1', 2].map((id) => ids.hasHad(id))).toEqual([true, true, false, false, false])
    for (let id = 3; id < 2_000; id += 1) ids.isNew(id)
    expect([1, 2, 999, 1_000, 1_999, 2_000, 'b'].map((id) => ids.hasHad(id))).toEqual([
      ...[false, false, false],
      ...[true, true, false, false],
    ])
    ids.isNew(1_000)
    ids.isNew(2_000)
    expect([1_000, 1_001].map((id) => ids.hasHad(id))).toEqual([true, false])
  })

  it('can be any where nobody has noted those of before', () => {
    const ids = new UsedIds(false)
    expect([ids.hasHad('b'), ids.isNew('b')]).toEqual([true, false])
  })
})
