import { expect, test } from 'vitest'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import { type Compensation, compensate } from './compensations.js'

const newTaken = () => {
  const done: string[] = []
  const giveBack =
    (name: string): Compensation =>
    async (outcome) => {
      await new Promise(setImmediate)
      done.push(`${name} ${outcome}`)
    }
  return { done, taken: [giveBack('reservation'), giveBack('slot')] }
}

test('what a failed mutation took is given back before the failure is known, last taken first', async () => {
  const { done, taken } = newTaken()
  await compensate(taken, new Error('in conflict'))
  expect(done).toEqual(['slot not_written', 'reservation not_written'])
})

test('while the outcome is unknown nothing is given back, and nobody waits for it', async () => {
  const { done, taken } = newTaken()
  let settle = (): void => {}
  const settled = new Promise<void>((resolve) => {
    settle = resolve
  })
  await compensate(taken, new StoreUnavailableError('too slow', {}, settled))
  await new Promise(setImmediate)
  await new Promise(setImmediate)
  expect(done).toEqual([])
  settle()
  await expect.poll(() => done).toEqual(['slot unknown', 'reservation unknown'])
})
