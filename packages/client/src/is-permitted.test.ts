import { DECISION_STATUSES } from '@countersign/contract'
import { decisionAbout } from '@countersign/testkit'
import { describe, expect, it } from 'vitest'
import { isPermitted } from './is-permitted.js'

const NOW = new Date('2026-11-21T10:00:00.000Z')
const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
const decision = { ...decisionAbout(asked), expires_at: '2026-11-21T10:05:00.000Z' }

describe('isPermitted', () => {
  it('permits an authorized decision about the very agent, action and resource until it expires', () => {
    expect(isPermitted(decision, asked, NOW)).toBe(true)
    expect(isPermitted(decision, asked, new Date('2026-11-21T10:04:59.999Z'))).toBe(true)
    expect(isPermitted(decision, asked, new Date('2026-11-21T10:05:00.000Z'))).toBe(false)
    expect(isPermitted(decision, asked, new Date(Number.NaN))).toBe(false)
  })

  it('takes the present time when none is given', () => {
    expect(isPermitted(decisionAbout(asked), asked)).toBe(true)
    expect(isPermitted({ ...decision, expires_at: '2020-01-01T00:00:00.000Z' }, asked)).toBe(false)
  })

  it.each(['allow', 'log', 'review'] as const)('permits an authorized %s', (effect) => {
    expect(isPermitted({ ...decision, effect }, asked, NOW)).toBe(true)
  })

  it.each(DECISION_STATUSES.filter((status) => status !== 'authorized'))('does not permit what is %s', (status) => {
    expect(isPermitted({ ...decision, status }, asked, NOW)).toBe(false)
  })

  it('does not permit a deny, whatever its status says', () => {
    expect(isPermitted({ ...decision, effect: 'deny' }, asked, NOW)).toBe(false)
  })

  it.each([
    { ...asked, agent_id: 'agent:support-8' },
    { ...asked, action: 'payment.refund.create' },
    { ...asked, resource: 'order:8813' },
    { ...asked, resource: null },
    { agent_id: asked.agent_id, action: asked.action },
    { ...asked, resource: '' },
  ])('does not permit another question: %j', (other) => {
    expect(isPermitted(decision, other, NOW)).toBe(false)
  })

  it('takes an absent resource and null for the same', () => {
    const without = { ...decision, resource: null }
    const { agent_id, action } = asked
    expect(isPermitted(without, { agent_id, action }, NOW)).toBe(true)
    expect(isPermitted(without, { agent_id, action, resource: null }, NOW)).toBe(true)
    expect(isPermitted(without, asked, NOW)).toBe(false)
  })
})
