import type { JsonObject } from '@countersign/contract'
import { expect } from 'vitest'
import { answerNever, answerProblem, answerReset } from '../stub-answers.js'
import type { StubAnswer } from '../stub-decision-point.js'
import type { Act } from './adapter.js'
import { type EnforcementCase, gist, RECEIPT, type Trial } from './trial.js'

const EUROS = { limit: 100, unit: 'EUR' }
const PROBLEM = answerProblem(503, 'store_unavailable')

/** In what way a decision point may be away, when it is to be told how an action ended. */
const AWAY: Readonly<Record<string, StubAnswer>> = {
  'has a fault': PROBLEM,
  'breaks off': answerReset,
  hangs: answerNever,
}

/** Errors after which an action may have been done all the same: by what alone they tell. */
const LOST: Readonly<Record<string, () => Error>> = {
  'a code': () => reset(),
  'its words': () => new Error('Connection terminated unexpectedly'),
}

/** The same, for frameworks that tell a guard of an error by more than its words. */
const LOST_BEYOND_WORDS: typeof LOST = {
  'the name of its class': () => new BankConnectionError('booking 8812'),
  'a status': () => Object.assign(new Error('it broke'), { statusCode: 500 }),
  'a cause of its cause': () => new Error('no refund', { cause: new Error('booking 8812', { cause: reset() }) }),
  'one of the errors that it gathers': () => new AggregateError([refused(), reset()], 'no bank took it'),
}

/** Values that say that the action failed: by what they tell. */
const FAILURES: Readonly<Record<string, JsonObject>> = {
  isError: { isError: true, text: 'no such account' },
  'its status': { status: 'error', text: 'no such account' },
}

/** The payment may have been answered, and the answer have another form. */
function faultOfProgram(): Error {
  const { receipt } = JSON.parse('{"status":"ok"}')
  try {
    return receipt.id
  } catch (error) {
    return error as TypeError
  }
}

class BankConnectionError extends Error {}

function reset(): Error {
  return Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET', syscall: 'read' })
}

function refused(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:9'), { code: 'ECONNREFUSED', syscall: 'connect' })
}

/** What the decision point is told about how an action ended, and what it spent. */
export const SETTLEMENT_CASES: readonly EnforcementCase[] = [
  {
    title: 'tells nothing before the action has ended',
    async run(trial) {
      const action = await trial.actionWith('allow')
      let seen: unknown
      const act: Act = async () => {
        seen = [(await trial.operator.decision(trial.decision.id)).status, trial.told]
        return { value: RECEIPT }
      }
      const guard = await trial.open({ act })
      await guard.call({ action })
      expect(seen).toEqual(['authorized', []])
    },
  },
  {
    title: 'confirms what was reserved, unless the action says what it cost',
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget(EUROS)
      const guard = await trial.open()
      await guard.call({ action, context: { amount: 40 } })
      await trial.expectStatus(trial.decision.id, 'confirmed')
      expect(await trial.operator.account(policyId)).toEqual({ spent: 40, reserved: 0 })
    },
  },
  {
    title: 'confirms what the action really cost',
    isOptional: true,
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget(EUROS)
      const guard = await trial.open({ act: async () => ({ value: RECEIPT, amount: 12.5 }) })
      expect(gist(await guard.call({ action, context: { amount: 40 } }))).toEqual({ kind: 'value', value: RECEIPT })
      await trial.expectStatus(trial.decision.id, 'confirmed')
      expect((await trial.operator.decision(trial.decision.id)).outcome).toMatchObject({ amount: 12.5 })
      expect(await trial.operator.account(policyId)).toEqual({ spent: 12.5, reserved: 0 })
    },
  },
  {
    title: 'rejects what failed, and gives the caller the own error of the action',
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget(EUROS)
      const error = new Error('card declined')
      const guard = await trial.open({ act: () => Promise.reject(error) })
      await expectOwnError(await guard.call({ action }), error)
      expect(trial.runs).toHaveLength(1)
      await trial.expectStatus(trial.decision.id, 'rejected')
      expect(await trial.operator.told(trial.decision.id)).toEqual(['rejected'])
      expect(await trial.operator.account(policyId)).toEqual({ spent: 0, reserved: 0 })
    },
  },
  ...Object.entries(FAILURES).map(([what, value]) => ({
    title: `rejects what gave back a value that says by ${what} that it failed, and gives it to the caller`,
    isOptional: true as const,
    async run(trial: Trial) {
      const { action, policyId } = await trial.actionWithBudget(EUROS)
      const guard = await trial.open({ act: async () => ({ value }) })
      expect(await guard.call({ action })).toMatchObject({ shown: expect.stringContaining('no such account') })
      expect(trial.runs).toHaveLength(1)
      await trial.expectStatus(trial.decision.id, 'rejected')
      expect(await trial.operator.told(trial.decision.id)).toEqual(['rejected'])
      expect(await trial.operator.account(policyId)).toEqual({ spent: 0, reserved: 0 })
    },
  })),
  {
    title: 'settles what failed in the way that settleOn says',
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget(EUROS)
      const error = new Error('card declined, for a fee')
      const guard = await trial.open({
        act: () => Promise.reject(error),
        options: { settleOn: ({ kind }) => (kind === 'failed' ? { settle: 'confirm', amount: 0.5 } : undefined) },
      })
      await expectOwnError(await guard.call({ action }), error)
      await trial.expectStatus(trial.decision.id, 'confirmed')
      expect(await trial.operator.account(policyId)).toEqual({ spent: 0.5, reserved: 0 })
    },
  },
  ...Object.entries(LOST).map(([what, lost]) => leavesOpen(`what lost its answer, as ${what} tells`, lost)),
  leavesOpen('what ended with a fault of the program', faultOfProgram),
  ...Object.entries(LOST_BEYOND_WORDS).map(([what, lost]) => ({
    ...leavesOpen(`what lost its answer, as ${what} tells`, lost),
    isOptional: true as const,
  })),
  {
    title: 'rejects what was surely refused, so that its budget pays for the next call',
    run: (trial) => expectRejected(trial, () => new Error('no refund', { cause: refused() })),
  },
  {
    title: 'rejects what was surely refused by everybody, so that its budget pays for the next call',
    isOptional: true,
    run: (trial) => expectRejected(trial, () => new AggregateError([refused(), refused()])),
  },
  {
    title: 'leaves open what failed, where onError says so',
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget(EUROS)
      const error = new Error('card declined')
      const guard = await trial.open({ act: () => Promise.reject(error), options: { onError: 'leave' } })
      await expectOwnError(await guard.call({ action }), error)
      await trial.untilLeft()
      expect(await trial.operator.account(policyId)).toEqual({ spent: 0, reserved: 40 })
    },
  },
  {
    title: 'rejects what lost its answer, where onError says so',
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget(EUROS)
      const error = reset()
      const guard = await trial.open({ act: () => Promise.reject(error), options: { onError: 'reject' } })
      await expectOwnError(await guard.call({ action }), error)
      await trial.expectStatus(trial.decision.id, 'rejected')
      expect(await trial.operator.account(policyId)).toEqual({ spent: 0, reserved: 0 })
    },
  },
  ...Object.entries(AWAY).map(([what, answer]) => ({
    title: `gives its caller the result when the decision point ${what} afterwards, and confirms it later, once`,
    async run(trial: Trial) {
      const { action, policyId } = await trial.actionWithBudget(EUROS)
      const guard = await trial.open({ options: { settleTimeoutMs: 300 } })
      trial.relay.answer('confirm', answer)
      expect(gist(await guard.call({ action }))).toEqual({ kind: 'value', value: RECEIPT })
      await trial.until(() => expect(trial.told).toContain('confirm'))
      expect((await trial.operator.decision(trial.decision.id)).status).toBe('authorized')
      trial.relay.heal()
      await guard.expectFlushed()
      await trial.expectStatus(trial.decision.id, 'confirmed')
      expect(await trial.operator.told(trial.decision.id)).toEqual(['confirmed'])
      expect(await trial.operator.account(policyId)).toEqual({ spent: 40, reserved: 0 })
      expect(trial.runs).toHaveLength(1)
    },
  })),
  {
    title: 'gives its caller the own error of the action when it cannot be rejected at once, and rejects it later',
    async run(trial) {
      const action = await trial.actionWith('allow')
      const error = new Error('card declined')
      const guard = await trial.open({ act: () => Promise.reject(error), options: { settleTimeoutMs: 300 } })
      trial.relay.answer('reject', PROBLEM)
      await expectOwnError(await guard.call({ action }), error)
      await trial.until(() => expect(trial.told).toContain('reject'))
      trial.relay.heal()
      await guard.expectFlushed()
      await trial.expectStatus(trial.decision.id, 'rejected')
    },
  },
  {
    title: 'gives its caller the result when somebody else has settled the decision meanwhile',
    async run(trial) {
      const action = await trial.actionWith('allow')
      const act: Act = async () => {
        await trial.operator.transition(trial.decision.id, 'reject')
        return { value: RECEIPT }
      }
      const guard = await trial.open({ act })
      expect(gist(await guard.call({ action }))).toEqual({ kind: 'value', value: RECEIPT })
      await trial.until(() => expect(trial.told).toContain('confirm'))
      await guard.expectFlushed()
      expect(await trial.operator.told(trial.decision.id)).toEqual(['rejected'])
    },
  },
  {
    title: 'says by flush how many settlements are open, and tells them all as soon as they are taken',
    async run(trial) {
      const action = await trial.actionWith('allow')
      const guard = await trial.open({ options: { settleTimeoutMs: 300 } })
      trial.relay.answer('confirm', PROBLEM)
      const outcomes = await Promise.all(Array.from({ length: 5 }, () => guard.call({ action })))
      expect(outcomes.map(({ kind }) => kind)).toEqual(Array(5).fill('value'))
      await trial.until(async () => expect(await guard.flush(50)).toBe(5))
      trial.relay.heal()
      await guard.expectFlushed()
      for (const { id } of trial.relay.decisions) {
        await trial.expectStatus(id, 'confirmed')
        expect(await trial.operator.told(id)).toEqual(['confirmed'])
      }
    },
  },
]

async function expectOwnError(outcome: object, error: Error): Promise<void> {
  expect(outcome).toMatchObject({ kind: 'failed' })
  expect((outcome as { error: unknown }).error).toBe(error)
}

function leavesOpen(what: string, lost: () => Error): EnforcementCase {
  return {
    title: `leaves open ${what}: its budget pays for no other call`,
    async run(trial) {
      const { action, policyId } = await trial.actionWithBudget({ ...EUROS, limit: 40 })
      const error = lost()
      const guard = await trial.open({ act: () => Promise.reject(error) })
      await expectOwnError(await guard.call({ action }), error)
      await trial.untilLeft()
      await guard.expectFlushed()
      expect(trial.told).toEqual([])
      expect((await trial.operator.decision(trial.decision.id)).status).toBe('authorized')
      expect(await trial.operator.account(policyId)).toEqual({ spent: 0, reserved: 40 })
      expect(await guard.call({ action })).toMatchObject({ kind: 'denied', reason: 'denied' })
      expect(trial.runs).toHaveLength(1)
    },
  }
}

/** Twice, by a budget that pays for one. */
async function expectRejected(trial: Trial, failure: () => Error): Promise<void> {
  const { action, policyId } = await trial.actionWithBudget({ ...EUROS, limit: 40 })
  const errors = [failure(), failure()]
  const guard = await trial.open({ act: () => Promise.reject(errors[trial.runs.length - 1]) })
  for (const [index, error] of errors.entries()) {
    await expectOwnError(await guard.call({ action }), error)
    // Some settle behind the caller's back.
    await trial.expectStatus(trial.relay.decisions[index]?.id ?? '', 'rejected')
  }
  expect(await trial.operator.account(policyId)).toEqual({ spent: 0, reserved: 0 })
}
