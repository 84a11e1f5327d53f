import { describe, expect, it } from 'vitest'
import { outcomeOfResult } from '../calls/result.js'
import { OpenTasks, taskOf } from './tasks.js'

const said = (text: string, isError?: boolean) => ({ content: [{ type: 'text', text }], ...(isError && { isError }) })

/** The outcomes that are known now. An outcome may never come. */
async function known(...ends: Promise<unknown>[]): Promise<unknown[]> {
  const open = Promise.resolve('open')
  return Promise.all(ends.map((end) => Promise.race([end, open])))
}

describe('an open task', () => {
  it.each([
    ['its result', (tasks: OpenTasks) => tasks.sawResult('s', 't', said('done')), { kind: 'succeeded' }],
    [
      'a result that is an error',
      (tasks: OpenTasks) => tasks.sawResult('s', 't', said('card declined', true)),
      { kind: 'failed', error: 'card declined' },
    ],
    [
      'a result that is none yet',
      (tasks: OpenTasks) => tasks.sawResult('s', 't', { resultType: 'input_required' }),
      { kind: 'unknown' },
    ],
    [
      'that it failed',
      (tasks: OpenTasks) => tasks.sawStatus('s', { taskId: 't', status: 'failed', statusMessage: 'timed out' }),
      { kind: 'failed', error: 'timed out' },
    ],
    [
      'that it failed, with its error',
      (tasks: OpenTasks) => tasks.sawStatus('s', { taskId: 't', status: 'failed', error: { message: 'timed out' } }),
      { kind: 'failed', error: 'timed out' },
    ],
    [
      'that it is completed, with its result',
      (tasks: OpenTasks) => tasks.sawStatus('s', { taskId: 't', status: 'completed', result: said('no money', true) }),
      { kind: 'failed', error: 'no money' },
    ],
    [
      'that it was cancelled',
      (tasks: OpenTasks) => tasks.sawStatus('s', { taskId: 't', status: 'cancelled' }),
      { kind: 'unknown' },
    ],
  ])('ends by %s', async (_what, see, outcome) => {
    const tasks = new OpenTasks()
    const end = tasks.endOf('s', 't')
    see(tasks)
    expect(await known(end)).toMatchObject([outcome])
    // A later task with the same id does not get the outcome of this one.
    expect(await known(tasks.endOf('s', 't'))).toEqual(['open'])
  })

  it('goes on whatever else is told', async () => {
    const tasks = new OpenTasks()
    const end = tasks.endOf('s', 't')
    for (const status of ['working', 'input_required', 'completed', 'CANCELLED', undefined, null, 7, {}])
      tasks.sawStatus('s', { taskId: 't', status })
    for (const result of ['done', null, undefined]) tasks.sawStatus('s', { taskId: 't', status: 'completed', result })
    for (const task of [undefined, null, 7, 'failed', [], { status: 'failed' }, { taskId: 7, status: 'failed' }])
      tasks.sawStatus('s', task)
    for (const id of [undefined, null, 7, {}, 'other']) tasks.sawResult('s', id, said('done'))
    tasks.sawStatus('other session', { taskId: 't', status: 'failed' })
    tasks.sawResult('other session', 't', said('done'))
    tasks.sawResult('s","t', '', said('done'))
    expect(await known(end)).toEqual(['open'])
  })

  it('whose id is given to another one is nobody’s any more, and neither is the other', async () => {
    const tasks = new OpenTasks()
    const both = [tasks.endOf('s', 't'), tasks.endOf('s', 't')]
    tasks.sawStatus('s', { taskId: 't', status: 'failed' })
    expect(await known(...both)).toEqual([{ kind: 'unknown' }, { kind: 'unknown' }])
  })

  it('is one of a thousand: of more the oldest is left', async () => {
    const tasks = new OpenTasks()
    const ends = Array.from({ length: 1_002 }, (_one, n) => tasks.endOf('s', `t${n}`))
    expect(await known(...ends.slice(0, 4))).toEqual([{ kind: 'unknown' }, { kind: 'unknown' }, 'open', 'open'])
    tasks.sawResult('s', 't1001', said('done'))
    expect(await known(...ends.slice(-2))).toMatchObject(['open', { kind: 'succeeded' }])
  })
})

it.each([
  [{ task: { taskId: 't' } }, 't'],
  [{ task: { taskId: 't' }, ...said('and words') }, 't'],
  [{ resultType: 'task', taskId: 't' }, 't'],
  [{ resultType: 'complete', taskId: 't' }, undefined],
  [{ task: { taskId: 7 } }, undefined],
  [{ task: 't' }, undefined],
  [said('done'), undefined],
])('finds in %j the task %s', (result, taskId) => {
  expect(taskOf(result)).toBe(taskId)
})

it.each([
  [{ resultType: 'input_required' }],
  [{ resultType: 'task', taskId: 't' }],
  [{ resultType: null }],
  [{ resultType: '' }],
])('takes %j for no success', (result) => {
  expect(outcomeOfResult(result as never)).toEqual({ kind: 'unknown' })
})
