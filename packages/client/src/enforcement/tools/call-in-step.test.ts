/** What names a call whose framework makes it again, and what one run of its step knows of it. */
import { expect, it } from 'vitest'
import { CallInStep, type CallStep } from './call-in-step.js'

const QUESTION = { agent_id: 'agent:a', action: 'payment.refund', resource: 'order:1' }
const callIn = (run: object, question: object = QUESTION, more: Partial<CallStep> = {}) =>
  new CallInStep({ names: ['thread', 'step', 'call_0'], run, ...more }, { ...QUESTION, ...question }, 'variant')

it('has the same key in each run of its step, and another one for each repeat within a run', () => {
  const [first, second] = [{}, {}]
  const keys = [first, first, second, second].map((run) => callIn(run).key)
  expect([keys[2], keys[3]]).toEqual([keys[0], keys[1]])
  expect(keys[0]).not.toBe(keys[1])
})

it('uses no repeat up for a call that is denied because its interrupt did not reach the framework', () => {
  const run = {}
  callIn(run).interruptFor('dec_1')
  expect(callIn(run).swallowed).toBe('dec_1')
  const third = callIn(run)
  expect(third.swallowed).toBeNull()
  const resumed = {}
  expect([callIn(resumed).key, callIn(resumed).key][1]).toBe(third.key)
})

it('knows of such an interrupt within a guard that asks another question about the same call', () => {
  const run = {}
  callIn(run).interruptFor('dec_1')
  expect(callIn(run, { action: 'tool.refund' }).swallowed).toBe('dec_1')
})

it('has a key for a question that cannot be asked', () => {
  expect(callIn({}, { resource: 1n }).key).not.toBe(callIn({}, { resource: 2n }).key)
})

it('makes nothing to keep where results are not kept, and has run whatever keeping it throws', async () => {
  let made = 0
  const ended = () => {
    made += 1
    throw new Error('it cannot be written')
  }
  await callIn({}).keep(ended)
  expect(made).toBe(0)
  const results = { write: async () => undefined, read: async () => undefined }
  await callIn({}, {}, { results }).keep(ended)
  expect(made).toBe(1)
})
