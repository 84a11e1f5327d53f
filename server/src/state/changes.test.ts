import { describe, expect, test, vi } from 'vitest'
import { DomainError } from '../domain-error.js'
import { DamagedRecordError, StoreUnavailableError } from '../ports/store/errors.js'
import { ConflictError } from '../ports/store/store.js'
import { Changes } from './changes.js'

test('changes happen one after the other, and one that fails by its own rules stops no other', async () => {
  const reload = vi.fn(async () => {})
  const changes = new Changes({ reload })
  const order: string[] = []
  const slow = changes.run(null, async () => {
    await new Promise((resolve) => setImmediate(resolve))
    order.push('slow')
  })
  const refused = changes.run(null, () => Promise.reject(new Error('name taken'))).catch(() => order.push('refused'))
  const quick = changes.run(null, async () => order.push('quick'))
  await Promise.all([slow, refused, quick])
  expect(order).toEqual(['slow', 'refused', 'quick'])
  expect(reload).not.toHaveBeenCalled()
})

test('a change that finds a damaged row stops no other', async () => {
  const reload = vi.fn(async () => {})
  const changes = new Changes({ reload })
  const damaged = new DamagedRecordError('webhook', 'whk_1', 'id', 'whk_2')
  await expect(changes.run(null, () => Promise.reject(damaged))).rejects.toBe(damaged)
  expect(await changes.run(null, async () => 'the next')).toBe('the next')
  expect(reload).not.toHaveBeenCalled()
})

describe('a change with an unknown outcome', () => {
  test('has the store read again, after it can have no effect any more and before the next change', async () => {
    let settle = () => {}
    const settled = new Promise<void>((resolve) => {
      settle = resolve
    })
    const reload = vi.fn(async () => {})
    const changes = new Changes({ reload })
    const lost = changes.run(null, () => Promise.reject(new StoreUnavailableError('too slow', {}, settled)))
    await expect(lost).rejects.toThrow('too slow')
    await expect(changes.run(null, async () => 'made upon old state')).rejects.toBeInstanceOf(StoreUnavailableError)
    expect(reload).not.toHaveBeenCalled()
    settle()
    await vi.waitFor(async () => expect(await changes.run(null, async () => 'made')).toBe('made'))
    expect(reload).toHaveBeenCalledOnce()
  })

  test('reads until the store answers', async () => {
    const reload = vi.fn(async () => {})
    reload.mockRejectedValueOnce(new Error('away')).mockRejectedValueOnce(new Error('away'))
    const changes = new Changes({ reload, retryMs: 1 })
    await expect(changes.run(null, () => Promise.reject(new StoreUnavailableError('too slow')))).rejects.toThrow()
    await vi.waitFor(async () => expect(await changes.run(null, async () => 'made')).toBe('made'))
    expect(reload).toHaveBeenCalledTimes(3)
  })
})

describe('a change that another process was faster with', () => {
  test('is made again by what is there now', async () => {
    let inStore = 1
    let inMemory = 1
    const changes = new Changes({
      reload: async () => {
        inMemory = inStore
      },
    })
    const raise = async () => {
      const next = inMemory + 1
      if (inStore >= next) throw new ConflictError('version')
      inStore = next
      return next
    }
    inStore = 4
    expect(await changes.run(null, raise)).toBe(5)
  })

  test('is given up when that has no end', async () => {
    const change = vi.fn(() => Promise.reject(new ConflictError('version')))
    const changes = new Changes({ reload: async () => {} })
    await expect(changes.run(null, change)).rejects.toBeInstanceOf(StoreUnavailableError)
    expect(change).toHaveBeenCalledTimes(10)
    expect(await changes.run(null, async () => 'the next')).toBe('the next')
  })

  test('is not made again when its own rules refuse it, but what is there now is known from then on', async () => {
    const reload = vi.fn(async () => {})
    const changes = new Changes({ reload })
    const taken = new DomainError('policy_name_taken', { cause: new ConflictError('policy_name') })
    await expect(changes.run(null, () => Promise.reject(taken))).rejects.toBe(taken)
    expect(reload).toHaveBeenCalledOnce()
  })
})

test('what other processes changed is taken over before each change; without it nothing is changed', async () => {
  const catchUp = vi.fn(async () => {})
  const changes = new Changes({ reload: async () => {}, catchUp })
  await changes.run(null, async () => expect(catchUp).toHaveBeenCalledTimes(1))
  catchUp.mockRejectedValueOnce(new StoreUnavailableError('away'))
  const change = vi.fn(async () => {})
  await expect(changes.run(null, change)).rejects.toThrow('away')
  expect(change).not.toHaveBeenCalled()
  await changes.run(null, change)
  expect(change).toHaveBeenCalledOnce()
})
