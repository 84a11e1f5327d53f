import { describe, expect, it } from 'vitest'
import type { EnforcementAdapter } from './adapter.js'
import { declarationFaults, ENFORCEMENT_CASES } from './suite.js'

const DENIED = 'does not run what is denied, and tells its caller so, with the decision'
const MAPPING = 'runs and sends nothing when what maps the call to a question throws'

function leavingOut(doesNotApply: Readonly<Record<string, string>>): EnforcementAdapter {
  return { name: 'nothing', doesNotApply, open: () => Promise.reject(new Error('nothing is opened here')) }
}

describe('the enforcement suite', () => {
  it('has titles that differ', () => {
    expect(new Set(ENFORCEMENT_CASES.map(({ title }) => title)).size).toBe(ENFORCEMENT_CASES.length)
  })

  it('lets an adapter leave out a case that its framework cannot express, for a reason', () => {
    expect(declarationFaults(leavingOut({ [MAPPING]: 'nothing is mapped' }))).toEqual([])
  })

  it.each([
    ['a case that every integration can express', { [DENIED]: 'too strict' }],
    ['a case that is not there', { 'runs what is denied': 'there is none' }],
    ['a case without a reason', { [MAPPING]: ' ' }],
  ])('lets no adapter leave out %s', (_what, doesNotApply) => {
    expect(declarationFaults(leavingOut(doesNotApply))).toHaveLength(1)
  })
})
