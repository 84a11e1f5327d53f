import { describe, expect, test } from 'vitest'
import { SerialQueue } from './serial-queue.js'

describe('a serial queue', () => {
  test('runs tasks one at a time in their order, and gives each caller its own result', async () => {
    const queue = new SerialQueue()
    const steps: string[] = []
    const task = (name: string) => async () => {
      steps.push(`${name} begins`)
      await new Promise(setImmediate)
      steps.push(`${name} ends`)
      return name
    }
    expect(await Promise.all([queue.run(task('a')), queue.run(task('b'))])).toEqual(['a', 'b'])
    expect(steps).toEqual(['a begins', 'a ends', 'b begins', 'b ends'])
  })

  test('goes on after a task that fails', async () => {
    const queue = new SerialQueue()
    const failed = queue.run(() => Promise.reject(new Error('first')))
    const next = queue.run(async () => 'second')
    await expect(failed).rejects.toThrow('first')
    expect(await next).toBe('second')
  })

  test('is idle when the tasks before have ended, however they end', async () => {
    const queue = new SerialQueue()
    const ended: string[] = []
    const failed = queue.run(async () => {
      await new Promise(setImmediate)
      ended.push('failed')
      throw new Error('of the task')
    })
    failed.catch(() => {})
    await queue.idle()
    expect(ended).toEqual(['failed'])
  })
})
