import { describe, expect, it } from 'vitest'
import { UsedIds } from './used-ids.js'

describe('ids that were used', () => {
  it('are new once', () => {
    const ids = new UsedIds()
    for (const id of [2, 1, '1', -1, 'a']) expect([ids.isNew(id), ids.isNew(id)]).toEqual([true, false])
  })

  it('are not taken for new once no more are remembered, but for those that count up', () => {
    const ids = new UsedIds()
    for (let id = 0; id < 1_000; id += 1) expect(ids.isNew(`id ${id}`)).toBe(true)
    expect([ids.isNew('another'), ids.isNew(7), ids.isNew(7), ids.isNew(6), ids.isNew(8)]).toEqual([
      false,
      true,
      false,
      false,
      true,
    ])
  })

  it('are not taken for new where they are too long to be remembered', () => {
    expect(new UsedIds().isNew('x'.repeat(65))).toBe(false)
  })
})
