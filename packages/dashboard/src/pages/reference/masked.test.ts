import { describe, expect, it } from 'vitest'
import { hasMasked, masked } from './masked.js'

describe('what is shown of an answer', () => {
  it('has no permit, key or secret, at any depth', () => {
    const answer = {
      id: 'key_1',
      key: 'cs_sk_1',
      data: [
        { permit_token: 'eyJ', nested: { secret: 'whsec_1' } },
        { effect: 'deny', key_id: 'key_1' },
      ],
    }
    const shown = masked(answer)
    expect(JSON.stringify(shown)).not.toMatch(/cs_sk_1|eyJ|whsec_1/)
    expect(shown).toMatchObject({ id: 'key_1', data: [{}, { effect: 'deny', key_id: 'key_1' }] })
    expect(hasMasked(shown)).toBe(true)
  })

  it('is the answer itself where there is none', () => {
    const answer = { data: [1, 'a', null, { secret: null }], next_cursor: null }
    expect(masked(answer)).toEqual(answer)
    expect(hasMasked(masked(answer))).toBe(false)
  })
})
