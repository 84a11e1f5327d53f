import { expect } from 'vitest'
import {
  answerCutOff,
  answerJson,
  answerNever,
  answerNothing,
  answerProblem,
  answerReset,
  answerText,
} from '../stub-answers.js'
import type { StubAnswer } from '../stub-decision-point.js'
import type { EnforcementCase, Trial } from './trial.js'

interface Fault {
  readonly set: (trial: Trial) => void | Promise<void>
  /** What the caller is told; `unavailable` unless said. */
  readonly reason?: string
  readonly options?: { readonly timeoutMs: number }
}

const answered = (answer: StubAnswer, more: Partial<Fault> = {}): Fault => ({
  set: ({ relay }) => relay.answer('ask', answer),
  ...more,
})
/** A permission by the decision point, apart from these members. */
const changed = (change: Readonly<Record<string, unknown>>, more: Partial<Fault> = {}): Fault => ({
  set: ({ relay }) => relay.change('ask', change),
  ...more,
})
const busy = { 'retry-after': '60' }
/** Nobody waits for a minute. */
const inTime = { options: { timeoutMs: 20_000 } }

/** What a decision point may do instead of answering. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'cannot be reached': { set: ({ relay }) => relay.close() },
  hangs: answered(answerNever, { options: { timeoutMs: 500 } }),
  'breaks off': answered(answerReset),
  'breaks off in the middle of its answer': answered(answerCutOff),
  'answers a page': answered(answerText(200, '<html>allow</html>', { 'content-type': 'text/html' })),
  'answers nothing': answered(answerNothing),
  'answers null': answered(answerJson(200, null)),
  'answers true': answered(answerJson(200, true)),
  'answers a list': answered(answerJson(200, [{ effect: 'allow', status: 'authorized' }])),
  'answers no decision': answered(answerJson(200, { effect: 'allow', status: 'authorized' })),
  'answers 500': answered(answerProblem(500, 'internal_error')),
  'answers 503': answered(answerProblem(503, 'store_unavailable')),
  'answers 503 for a minute': answered(answerProblem(503, 'store_unavailable', busy), inTime),
  'answers 429 for a minute': answered(answerProblem(429, 'rate_limited', busy), inTime),
  'does not know the key': answered(answerProblem(401, 'invalid_api_key'), { reason: 'refused' }),
  'does not take the question': answered(answerProblem(400, 'validation_failed'), { reason: 'refused' }),
  'answers about another agent': changed({ agent_id: 'agent:somebody-else' }),
  'answers about another action': changed({ action: 'page.read' }),
  'answers about another resource': changed({ resource: 'order:1' }),
  'answers about no resource': changed({ resource: null }),
  'answers with an unknown effect': changed({ effect: 'permit' }),
  'answers with the name of a method as effect': changed({ effect: 'toString' }),
  'answers with an effect and a status that do not fit': changed({ effect: 'deny' }),
  'answers with an unknown status': changed({ status: 'granted' }),
  'answers without a status': changed({ status: undefined }),
  'answers what is over': changed({ expires_at: new Date(0).toISOString() }, { reason: 'expired' }),
  'answers without an end': changed({ expires_at: undefined }),
  'answers with an end that is no time': changed({ expires_at: 'never' }),
}

/** No answer, and no answer that can be trusted: nothing runs, and nobody waits for ever. */
export const FAULT_CASES: readonly EnforcementCase[] = Object.entries(FAULTS).map(([what, fault]) => ({
  title: `runs nothing when the decision point ${what}, and tells its caller in time`,
  async run(trial: Trial) {
    const action = await trial.actionWith('allow')
    const { set, reason = 'unavailable', options = {} } = fault
    const guard = await trial.open({ options })
    await set(trial)
    expect(await guard.call({ action })).toMatchObject({ kind: 'denied', reason })
    expect(trial.runs).toEqual([])
    expect(trial.told.filter((call) => call !== 'reject')).toEqual([])
  },
}))
