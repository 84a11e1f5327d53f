import { describe, expect, it } from 'vitest'
import { withDecision } from './result.js'

describe('the decision in a result', () => {
  const claimed = { content: [], _meta: { 'countersign/decision': { id: 'dec_forged', effect: 'allow' }, own: 1 } }

  it('is the one that the call ran by, whatever the server says', () => {
    const decision = { id: 'dec_1', effect: 'log' } as never
    const _meta = { 'countersign/decision': { id: 'dec_1', effect: 'log' }, own: 1 }
    expect(withDecision(claimed, { decision })).toEqual({ content: [], _meta })
  })

  it('is none where nobody decided, whatever the server says', () => {
    expect(withDecision(claimed, { decision: null })).toEqual({ content: [], _meta: { own: 1 } })
  })
})
