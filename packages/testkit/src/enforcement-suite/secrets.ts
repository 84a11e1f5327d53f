import { inspect } from 'node:util'
import type { Effect } from '@countersign/contract'
import { expect } from 'vitest'
import { policyName } from './operator.js'
import type { EnforcementCase, Trial } from './trial.js'

/** What nobody is shown. */
export const SECRET_CASES: readonly EnforcementCase[] = [
  {
    title: 'shows its caller no permit and nothing of a policy when the action ran',
    run: (trial) => expectSecrets(trial, 'allow'),
  },
  {
    title: 'shows its caller no permit and nothing of a policy when the action failed',
    run: (trial) => expectSecrets(trial, 'allow', new Error('card declined')),
  },
  {
    title: 'shows its caller nothing of a policy when the action is denied',
    run: (trial) => expectSecrets(trial, 'deny'),
  },
  {
    title: 'shows its caller nothing of a policy when a review is required',
    run: (trial) => expectSecrets(trial, 'review'),
  },
]

async function expectSecrets(trial: Trial, effect: Effect, error?: Error): Promise<void> {
  const action = await trial.actionWith(effect)
  const guard = await trial.open(error && { act: () => Promise.reject(error) })
  const outcome = await guard.call({ action })
  const { policy_id, reason_code, permit_token } = trial.decision
  expect(permit_token !== undefined).toBe(effect === 'allow')
  const shown = 'shown' in outcome ? outcome.shown : ''
  expect(shown).not.toBe('')
  for (const secret of [policy_id ?? '?', policyName(action), reason_code, trial.apiKey, ...trial.relay.permits]) {
    expect(shown).not.toContain(secret)
  }
  await guard.flush()
  for (const secret of [trial.apiKey, ...trial.relay.permits]) {
    expect(inspect(trial.events, { depth: Number.POSITIVE_INFINITY })).not.toContain(secret)
    expect(JSON.stringify(trial.events)).not.toContain(secret)
  }
}
