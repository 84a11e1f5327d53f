import type { AuditEntry } from '@countersign/contract'
import { describe, expect, it } from 'vitest'
import { Removals } from './removals.js'

const DAY_MS = 86_400_000
const UPGRADE = Date.parse('2026-06-01T00:00:00.000Z')
const daysBefore = (days: number) => new Date(UPGRADE - days * DAY_MS).toISOString()

type Data = Readonly<Record<string, string>>
const entry = (type: string, at: string, data: Data = {}) => ({ type, at, data }) as unknown as AuditEntry
/** Of a release that bound little. */
const older = (at: string) => entry('decision.created', at, { effect: 'allow' })
const bound = (at: string, status = 'denied') =>
  entry('decision.created', at, { effect: 'deny', details: 'hash', status, expires_at: at })
const removed = (before: string) =>
  entry('decisions.removed', daysBefore(0), { evaluated_before: before, ended_before: before })

function removalsOf(...entries: readonly AuditEntry[]): Removals {
  const removals = new Removals()
  for (const one of entries) removals.add(one)
  return removals
}

describe('a missing decision of an older release, which removed without an entry', () => {
  const upgraded = removalsOf(older(daysBefore(60)), bound(daysBefore(0)), bound(daysBefore(-60)))

  it.each([
    ['31 days and more before the first decision of a release that says so', older(daysBefore(32)), true],
    ['31 days before it, within the tolerance of clocks', older(daysBefore(31)), true],
    ['less than that', older(daysBefore(30)), false],
    ['after it', older(daysBefore(-30)), false],
    ['long ago, of a release that says what it removes', bound(daysBefore(32)), false],
  ])('is exempt when it was made %s: else it is a difference', (_, created, isExempt) => {
    expect(upgraded.mayHaveUnsaid([created])).toBe(isExempt)
  })

  it('is measured by the newest entry where no release has said so yet', () => {
    const removals = removalsOf(older(daysBefore(60)), entry('key.created', daysBefore(0)))
    expect(removals.mayHaveUnsaid([older(daysBefore(32))])).toBe(true)
    expect(removals.mayHaveUnsaid([older(daysBefore(30))])).toBe(false)
  })

  it('is none without the entry of its beginning', () => {
    expect(upgraded.mayHaveUnsaid([])).toBe(false)
  })
})

describe('a missing decision from before a removal that the log tells of', () => {
  const removals = removalsOf(removed(daysBefore(40)))
  const confirmed = (at: string) => entry('decision.confirmed', at, { status: 'confirmed', expires_at: at })

  it.each([
    ['without a status, as an older release wrote it', [older(daysBefore(50))], true],
    ['without a status, and made later', [older(daysBefore(39))], false],
    ['that was closed', [bound(daysBefore(50))], true],
    ['that was closed by a later entry', [older(daysBefore(50)), confirmed(daysBefore(45))], true],
    ['that ended later', [bound(daysBefore(50), 'authorized'), confirmed(daysBefore(30))], false],
    ['that was open', [bound(daysBefore(50), 'authorized')], false],
    ['that is bound and lacks its status', [entry('decision.created', daysBefore(50), { details: 'hash' })], false],
    ['without the entry of its beginning', [], false],
  ])('%s', (_, entries, mayBeRemoved) => {
    expect(removals.mayHave(entries)).toBe(mayBeRemoved)
  })

  it('is a difference where the log tells of none', () => {
    expect(removalsOf(bound(daysBefore(0))).mayHave([bound(daysBefore(50))])).toBe(false)
  })
})
