/** How entries of one record are compared with each other. What a server writes and an intruder edits is tested with real stores. */
import type { AuditEntry, AuditType, JsonObject } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { checkRecord, checkRemoved } from '../../src/records/check-record.js'

const AGENT = 'agent:busy'
const DECISION = 'dec_01kagx3v5ne8sr6w1y6gqk4t2h'

function entryOf(index: number, type: AuditType, subject: string, data: JsonObject): AuditEntry {
  const at = new Date(Date.UTC(2026, 10, 1) + index * 1000).toISOString()
  return { id: `aud_${index}`, log: 'a', index, at, type, actor: 'key_a', subject, agent_id: AGENT, data, leaf: '' }
}

/** Changes of an agent that suspend it, one after the other: none follows from the one before. */
const forged = (count: number, versionOf: (i: number) => number): AuditEntry[] =>
  Array.from({ length: count }, (_, i) =>
    entryOf(i, 'agent.suspended', AGENT, {
      ...{ version: versionOf(i), revision: i + 1, metadata_hash: null },
      suspended: { at: '2026-11-01T00:00:00.000Z', by: 'key_a', reason: null },
    }),
  )

/** How often anything looks at what an entry says while all of them are compared. */
function looksAt(entries: readonly AuditEntry[]): number {
  let looks = 0
  const watched = entries.map((entry) =>
    Object.defineProperty({ ...entry }, 'data', {
      get: () => {
        looks += 1
        return entry.data
      },
    }),
  )
  const { differences } = checkRecord({ kind: 'agent', id: AGENT }, watched, { version: 0 })
  expect(differences.length).toBeGreaterThan(entries.length)
  return looks
}

describe('changes of an agent', () => {
  it.each([
    ['with gaps between their versions', (i: number) => 2 * i + 2],
    ['of one version', () => 2],
  ])('that do not follow from each other, %s, cost what they are', (_, versionOf) => {
    const [once, twice] = [400, 800].map((count) => looksAt(forged(count, versionOf))) as [number, number]
    // Sorting has a logarithm of its own.
    expect(twice / once).toBeLessThan(2.5)
  })

  it('of one version begin with the one that made it, also where a clock says otherwise', () => {
    const after = { version: 1, revision: 1, suspended: null, metadata_hash: 'hash' }
    // It changed nothing: a resumption registers no agent.
    const repeated = entryOf(0, 'agent.resumed', AGENT, after)
    const made = entryOf(1, 'agent.created', AGENT, after)
    const stored = { ...after, registrations: { 1: 'hash' } }
    const check = checkRecord({ kind: 'agent', id: AGENT }, [repeated, made], stored)
    expect(check).toEqual({ differences: [], unbound: [] })
  })
})

describe('changes of a policy', () => {
  const POLICY = 'pol_01kagx3v5ne8sr6w1y6gqk4t2h'
  const checked = (...sets: readonly number[]) => {
    const written_at = '2026-11-01T00:00:00.000Z'
    const entries = sets.map((policy_set, i) =>
      entryOf(i, i === 0 ? 'policy.created' : 'policy.updated', POLICY, {
        ...{ name: 'p', revision: i + 1, policy_set, written_at, document_hash: 'hash' },
      }),
    )
    const revisions = Object.fromEntries(
      sets.map((policy_set, i) => [
        i + 1,
        {
          ...{ name: 'p', policy_set, document_hash: 'hash' },
          ...{ created_by: 'key_a', created_at: written_at, updated_by: 'key_a', updated_at: written_at },
        },
      ]),
    )
    const stored = { live_revision: sets.length, deleted_at: null, revisions }
    return checkRecord({ kind: 'policy', id: POLICY }, entries, stored).differences.map(
      ({ member, logged, stored, entry, later_entry }) => [member, logged, stored, entry?.index, later_entry?.index],
    )
  }

  it('raise the counter of all policies', () => {
    expect(checked(3, 4, 9)).toEqual([])
  })

  it('that do not raise it are named, with what both entries say', () => {
    expect(checked(3, 9, 9, 4, 5)).toEqual([
      ['policy_set', 9, 9, 1, 2],
      ['policy_set', 9, 4, 2, 3],
    ])
  })
})

describe('a decision that retention has removed', () => {
  const state = {
    status: 'authorized',
    expires_at: '2026-11-01T01:00:00.000Z',
    budgets: [],
    review: null,
    outcome: null,
  }
  const created = { ...state, effect: 'allow', action: 'pay', version: 1, details: 'x' }
  const outcome = { result: 'confirmed', amount: null, note: null }
  const ended = { ...state, status: 'confirmed', version: 2, outcome }
  const checked = (...changes: readonly (readonly [AuditType, JsonObject])[]) =>
    checkRemoved(
      DECISION,
      changes.map(([type, data], i) => entryOf(i, type, DECISION, data)),
    ).map(({ member, entry, later_entry }) => [member, entry?.index, later_entry?.index])

  it('is in order when its entries follow from each other', () => {
    expect(checked(['decision.created', created], ['decision.confirmed', ended])).toEqual([])
  })

  it('is found when an entry repeats what somebody had edited', () => {
    const edited = [{ policy_id: 'pol_a', amount: 1 }]
    expect(checked(['decision.created', created], ['decision.confirmed', { ...ended, budgets: edited }])).toEqual([
      ['budgets', 0, 1],
    ])
  })

  it.each([
    ['decision.approved', { ...created, effect: 'review', status: 'awaiting_review' }, { status: 'approved' }],
    [
      'decision.claimed',
      { ...created, effect: 'review', status: 'approved' },
      { status: 'authorized', claimed_at: 'x' },
    ],
  ] as const)('is found when %s comes after the erasure of its request', (type, first, moved) => {
    const erased = { ...first, version: 2, request_erased_at: '2026-11-01T00:00:01.000Z' }
    const found = checked(
      ['decision.created', first],
      ['request.erased', erased],
      [type, { ...first, ...moved, version: 3 }],
    )
    expect(found).toContainEqual(['status', 1, 2])
  })

  it('is in order when it was confirmed after the erasure of its request', () => {
    const erased = { ...created, version: 2, request_erased_at: '2026-11-01T00:00:01.000Z' }
    const confirmed = { ...ended, version: 3 }
    expect(
      checked(['decision.created', created], ['request.erased', erased], ['decision.confirmed', confirmed]),
    ).toEqual([])
  })

  it('is found when a change of it has no entry', () => {
    expect(checked(['decision.created', created], ['decision.confirmed', { ...ended, version: 3 }])).toEqual([
      ['version', 0, 1],
    ])
  })
})
