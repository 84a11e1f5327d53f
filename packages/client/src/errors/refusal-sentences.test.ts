import { describe, expect, it } from 'vitest'
import { DeniedError } from './denied-error.js'
import { NotPermittedError } from './not-permitted-error.js'
import type { DeniedReason } from './refusal-reason.js'
import { REFUSAL_SENTENCES } from './refusal-sentences.js'

describe('the sentences of refusals', () => {
  it.each(Object.entries(REFUSAL_SENTENCES))('%s says what happened and what to do next', (reason, sentence) => {
    expect(sentence).toMatch(/^[A-Z][^_]+\. [A-Z][^_]+\.$/)
    const error = new DeniedError(reason as DeniedReason, { decision_id: 'dec_1' })
    expect(error.message).toBe(`${sentence} (${reason}, decision dec_1)`)
  })

  it('give way to the advice of the decision', () => {
    const advice = { retry: 'never', message: 'This is not allowed.' } as const
    expect(new DeniedError('denied', { advice }).message).toBe('This is not allowed. (denied)')
  })

  it('are those of waiting, too', () => {
    const error = new NotPermittedError('dec_1', 'not_reviewed')
    expect(error.message).toBe(`${REFUSAL_SENTENCES.not_reviewed} (not_reviewed, decision dec_1)`)
  })
})
