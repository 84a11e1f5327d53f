import { describe, expect, test, vi } from 'vitest'
import { ConflictError, StoreUnavailableError } from '../ports/store.js'
import { Changes } from './changes.js'

test('changes happen one after the other, and one that fails by its own rules stops no other', async () => {
  const reload = vi.fn(async () => {})
  const changes = new Changes(reload)
  const order: string[] = []
  const slow = changes.run(async () => {
    await new Promise((resolve) => setImmediate(resolve))
    order.push('slow')
  })
  const refused = changes.run(() => Promise.reject(new Error('name taken'))).catch(() => order.push('refused'))
  const quick = changes.run(async () => order.push('quick'))
  await Promise.all([slow, refused, quick])
  expect(order).toEqual(['slow', 'refused', 'quick'])
  expect(reload).not.toHaveBeenCalled()
})

describe('a change with an unknown outcome', () => {
  test('has the store read anew, after it can have no effect any more and before the next change', async () => {
    let settle = () => {}
    const settled = new Promise<void>((resolve) => {
      settle = resolve
    })
    const reload = vi.fn(async () => {})
    const changes = new Changes(reload)
    const lost = changes.run(() => Promise.reject(new StoreUnavailableError('too slow', {}, settled)))
    await expect(lost).rejects.toThrow('too slow')
    await expect(changes.run(async () => 'made upon old state')).rejects.toBeInstanceOf(StoreUnavailableError)
    expect(reload).not.toHaveBeenCalled()
    settle()
    await vi.waitFor(async () => expect(await changes.run(async () => 'made')).toBe('made'))
    expect(reload).toHaveBeenCalledOnce()
  })

  test('reads until the store answers', async () => {
    const reload = vi.fn(async () => {})
    reload.mockRejectedValueOnce(new Error('away')).mockRejectedValueOnce(new Error('away'))
    const changes = new Changes(reload, () => {}, 1)
    await expect(changes.run(() => Promise.reject(new ConflictError('version')))).rejects.toThrow()
    await vi.waitFor(async () => expect(await changes.run(async () => 'made')).toBe('made'))
    expect(reload).toHaveBeenCalledTimes(3)
  })
})
