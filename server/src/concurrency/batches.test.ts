import { expect, test } from 'vitest'
import { Batches } from './batches.js'

/** Answers what was asked once it is let go, and keeps the batches that it was sent. */
function echo(answerOf: (asked: number) => number | Error = (asked) => asked) {
  const sent: (readonly number[])[] = []
  const lettingGo: (() => void)[] = []
  const batches = new Batches<number, number>(async (batch) => {
    sent.push(batch)
    await new Promise<void>((resolve) => lettingGo.push(resolve))
    return batch.map(answerOf)
  })
  return { batches, sent, letGo: () => lettingGo.shift()?.() }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('what is asked in one turn leaves together, and what is asked meanwhile as the next', async () => {
  const { batches, sent, letGo } = echo()
  const first = [batches.ask(1), batches.ask(2)]
  await turn()
  const second = [batches.ask(3), batches.ask(4)]
  await turn()
  expect(sent).toEqual([[1, 2]])
  expect(batches.isIdle).toBe(false)
  letGo()
  expect(await Promise.all(first)).toEqual([1, 2])
  await turn()
  letGo()
  expect(await Promise.all(second)).toEqual([3, 4])
  expect(sent).toEqual([
    [1, 2],
    [3, 4],
  ])
  await turn()
  expect(batches.isIdle).toBe(true)
})

test('an error is the answer for one alone, a rejection for all of its batch, and the next one leaves all the same', async () => {
  const { batches, letGo } = echo((asked) => {
    if (asked === 0) throw new Error('all')
    return asked === 1 ? new Error('one') : asked
  })
  for (const [asked, outcomes] of [
    [
      [1, 2],
      ['one', 2],
    ],
    [
      [0, 2],
      ['all', 'all'],
    ],
    [[2], [2]],
  ] as const) {
    const answers = asked.map((one) => batches.ask(one).catch((error: Error) => error.message))
    await turn()
    letGo()
    expect(await Promise.all(answers)).toEqual(outcomes)
  }
})
