import { describe, expect, it } from 'vitest'
import { type DecisionRow, merged } from './live-list'
import { matches } from './matches'

function row(n: number, changes: Partial<DecisionRow> = {}): DecisionRow {
  const two = String(n).padStart(2, '0')
  return {
    id: `dec_${two}`,
    effect: 'allow',
    status: 'authorized',
    reason: null,
    reason_code: 'rule_matched',
    policy_id: 'pol_a',
    rule: 0,
    agent_id: 'agent:a',
    action: 'a.b',
    resource: null,
    evaluated_at: `2026-11-21T10:00:${two}.000Z`,
    ...changes,
  }
}
const mapOf = (...rows: DecisionRow[]) => new Map(rows.map((one) => [one.id, one]))
const page = (rows: DecisionRow[], next_cursor: string | null = null) => ({ data: rows, next_cursor })
const idsOf = (rows: readonly DecisionRow[]) => rows.map(({ id }) => id)

describe('the merged list', () => {
  it('has what has arrived before the pages, newest first, each once', () => {
    const rows = merged([page([row(3), row(2)])], mapOf(row(5), row(4), row(3)), {})
    expect(idsOf(rows)).toEqual(['dec_05', 'dec_04', 'dec_03', 'dec_02'])
  })

  it('shows a listed decision in its newest state, where it was', () => {
    const rows = merged([page([row(3), row(2)])], mapOf(row(2, { status: 'confirmed' })), {})
    expect(rows.map(({ id, status }) => [id, status])).toEqual([
      ['dec_03', 'authorized'],
      ['dec_02', 'confirmed'],
    ])
  })

  it('leaves out an old decision that has changed and is behind the loaded pages', () => {
    const changed = mapOf(row(1, { status: 'expired' }))
    expect(idsOf(merged([page([row(3), row(2)], 'more')], changed, {}))).toEqual(['dec_03', 'dec_02'])
    expect(idsOf(merged([page([row(3), row(2)])], changed, {}))).toEqual(['dec_03', 'dec_02', 'dec_01'])
  })

  it('has only what matches the filters, also after a change', () => {
    const changed = mapOf(row(3, { status: 'confirmed' }), row(4, { agent_id: 'agent:b' }))
    const filters = { status: 'authorized', agent_id: 'agent:a' }
    expect(idsOf(merged([page([row(3), row(2)])], changed, filters))).toEqual(['dec_02'])
  })

  it('keeps the order of the ids within one millisecond', () => {
    const same = '2026-11-21T10:00:00.000Z'
    const rows = merged([page([row(1, { evaluated_at: same })])], mapOf(row(2, { evaluated_at: same })), {})
    expect(idsOf(rows)).toEqual(['dec_02', 'dec_01'])
  })
})

it('from is inclusive, to is exclusive', () => {
  const { evaluated_at: at } = row(1)
  const later = row(2).evaluated_at
  expect([matches(row(1), { from: at }), matches(row(1), { from: later })]).toEqual([true, false])
  expect([matches(row(1), { to: later }), matches(row(1), { to: at })]).toEqual([true, false])
})
