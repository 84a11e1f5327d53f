import type { ReceivedEvent } from '@countersign/client'
import pc from 'picocolors'
import { describe, expect, it } from 'vitest'
import { tailLine } from './tail-line.js'

const plain = pc.createColors(false)
const budget = { policy_id: 'pol_1', unit: 'EUR', amount: 42.5 }

/** Only what a line shows. */
function event(change: Partial<ReceivedEvent>, data: object): ReceivedEvent {
  const asked = { agent_id: 'agent:support-7', action: 'payment.refund', resource: 'order:8812' }
  const about = { id: 'dec_1', status: 'authorized', ...asked, reason: null, budgets: [], outcome: null, ...data }
  const head = { id: 'cur_1', type: 'decision.created', timestamp: '2026-11-21T10:00:00.000Z', sequence: 1 } as const
  return { ...head, ...change, data: about } as unknown as ReceivedEvent
}

const lineOf = (change: Partial<ReceivedEvent>, data: object = {}) => tailLine(event(change, data), plain)

describe('a line of tail', () => {
  it.each([
    [
      'an allow that reserves an amount',
      lineOf({}, { budgets: [budget] }),
      '2026-11-21T10:00:00.000Z  authorized       agent:support-7   payment.refund    order:8812    42.5 EUR',
    ],
    [
      'a deny with its reason, without a resource',
      lineOf({}, { status: 'denied', resource: null, reason: 'Refunds are closed.' }),
      '2026-11-21T10:00:00.000Z  denied           agent:support-7   payment.refund    -             -          Refunds are closed.',
    ],
    [
      'a settlement that cost less',
      lineOf({ type: 'decision.confirmed' }, { status: 'confirmed', budgets: [budget], outcome: { amount: 40 } }),
      '2026-11-21T10:00:00.000Z  confirmed        agent:support-7   payment.refund    order:8812    40 EUR',
    ],
    [
      'a change that the status does not tell',
      lineOf({ type: 'decision.redeemed' }),
      '2026-11-21T10:00:00.000Z  authorized/redeemed  agent:support-7   payment.refund    order:8812    -',
    ],
    [
      'each amount once',
      lineOf({}, { budgets: [budget, budget, { ...budget, unit: 'calls', amount: 1 }, { ...budget, amount: null }] }),
      '2026-11-21T10:00:00.000Z  authorized       agent:support-7   payment.refund    order:8812    42.5 EUR, 1 calls',
    ],
  ])('shows %s', (_what, line, expected) => {
    expect(line).toBe(expected)
  })

  it('colours the status alone', () => {
    const line = tailLine(event({}, { status: 'denied', reason: 'No.' }), pc.createColors(true))
    expect(line).toBe(
      `${pc.createColors(true).dim('2026-11-21T10:00:00.000Z')}  ${pc.createColors(true).red('denied         ')}  agent:support-7   payment.refund    order:8812    -          No.`,
    )
  })

  it('is one line in one direction, whatever an agent or a policy says', () => {
    const evil = 'order:1\u001b[2J\u202e\n\r\u0085\u2028\u200b\u{e0041}x'
    const line = lineOf({}, { resource: evil, reason: evil, budgets: [{ ...budget, unit: evil }], status: evil })
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    expect(line).toContain('\\u{1b}[2J\\u{202e}')
  })

  it('does not take a space in a text for the end of a column', () => {
    expect(lineOf({}, { resource: 'order:1  -  "free"' })).toContain('  "order:1  -  \\"free\\""  ')
  })

  it('knows no status by what every object has', () => {
    expect(tailLine(event({}, { status: 'constructor' }), pc.createColors(true))).toContain('constructor    ')
  })
})
