import { expect, test } from 'vitest'
import { StoreUnavailableError } from '../ports/store/errors.js'
import { StoreMutex } from './store-mutex.js'

test('a failure of the store fails the tasks that wait, and no other failure does', async () => {
  const mutex = new StoreMutex()
  const fail = (error: Error) => mutex.run('dec_1', () => Promise.reject(error))
  const done = () => mutex.run('dec_1', async () => 'done')
  const afterStore = [fail(new StoreUnavailableError('too slow')), done(), done()]
  for (const task of await Promise.allSettled(afterStore))
    expect(task).toMatchObject({ reason: { message: 'too slow' } })
  const afterRule = [fail(new Error('not allowed')), done()]
  expect((await Promise.allSettled(afterRule)).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
})

test('the 1001st task on one object is answered that the store is unavailable', async () => {
  const mutex = new StoreMutex()
  let end = (): void => {}
  const first = new Promise<void>((resolve) => {
    end = resolve
  })
  const tasks = Array.from({ length: 1000 }, () => mutex.run('dec_1', () => first))
  await expect(mutex.run('dec_1', async () => 'late')).rejects.toBeInstanceOf(StoreUnavailableError)
  end()
  await Promise.all(tasks)
})
