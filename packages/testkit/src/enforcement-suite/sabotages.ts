/** A suite is worth what it catches: adapters that break a promise on purpose, and that the suite notices each of them. */
import { describe, expect, it } from 'vitest'
import type { EnforcementAdapter } from './adapter.js'
import { Operator, type RealDecisionPoint } from './operator.js'
import { ENFORCEMENT_CASES } from './suite.js'
import { type EnforcementCase, Trial } from './trial.js'

/** An integration that breaks a promise. */
export interface Sabotage {
  /** Goes on from "a guard that". */
  readonly what: string
  readonly broken: EnforcementAdapter
  /** The one that it was made of: passes the very cases that the broken one fails. */
  readonly sound: EnforcementAdapter
  /** How the titles of the cases begin that fail, one or more. */
  readonly caughtBy: readonly string[]
  /**
   * What is waited for in vain, where nothing else shows the fault. Absent: the cases fail by what happens, however fast the
   * machine is.
   */
  readonly neverComes?: string
}

/** Of machines with a lot else to do. */
const PATIENCE_MS = 60_000

/** For what never comes. The first with which the sound one passes is taken, so a slow machine waits longer. */
const SHORT_PATIENCES_MS = [2_000, 8_000, 30_000]

/** That every case notices something, and every sabotage is noticed by the cases that it names, which a sound one passes. */
export function sabotageSuite(sabotages: readonly Sabotage[], point: () => RealDecisionPoint): void {
  describe('the enforcement suite', () => {
    it('has no case that catches nothing', () => {
      const caught = new Set(pairsOf(sabotages).map(({ one }) => one.title))
      expect(ENFORCEMENT_CASES.map(({ title }) => title).filter((title) => !caught.has(title))).toEqual([])
    })
    describe.concurrent('catches a guard that', () => {
      for (const { sabotage, one } of pairsOf(sabotages)) {
        const name = `${sabotage.what}: ${one.title}`
        it(name, { timeout: 3 * PATIENCE_MS }, () => expectCaught(sabotage, one, point()))
      }
    })
  })
}

interface Pair {
  readonly sabotage: Sabotage
  readonly one: EnforcementCase
}

function pairsOf(sabotages: readonly Sabotage[]): readonly Pair[] {
  return sabotages.flatMap((sabotage) => sabotage.caughtBy.map((beginning) => ({ sabotage, one: caseOf(beginning) })))
}

/** The one case whose title begins so. */
export function caseOf(beginning: string): EnforcementCase {
  const [one, ...others] = ENFORCEMENT_CASES.filter(({ title }) => title.startsWith(beginning))
  if (one !== undefined && others.length === 0) return one
  throw new Error(`${one === undefined ? 'no case begins' : 'several cases begin'} with "${beginning}"`)
}

/**
 * That the case fails with the broken adapter, as an assertion does and not because time is over, and passes with the sound
 * one, with the same patience: `longMs`, or a short one for what never comes.
 */
export async function expectCaught(
  sabotage: Sabotage,
  one: EnforcementCase,
  point: RealDecisionPoint,
  longMs = PATIENCE_MS,
): Promise<void> {
  const { broken, sound, neverComes } = sabotage
  const apiKey = await new Operator(point).makeKey()
  const trialOf = (adapter: EnforcementAdapter, patienceMs: number) =>
    Trial.try(one, { adapter, point, apiKey, patienceMs })
  const patiencesMs = neverComes === undefined ? [longMs] : SHORT_PATIENCES_MS
  for (const patienceMs of patiencesMs) {
    const control = await trialOf(sound, patienceMs)
    if (control.failure !== null && control.isOutOfPatience && patienceMs !== patiencesMs.at(-1)) continue
    if (control.failure !== null) throw new Error('it fails with a sound guard too', { cause: control.failure })
    const { failure, isOutOfPatience } = await trialOf(broken, patienceMs)
    expect(failure, 'what the case fails with').toMatchObject({ name: 'AssertionError' })
    expect(isOutOfPatience ? 'time was over' : 'it happened').toBe(neverComes ? 'time was over' : 'it happened')
    return
  }
}
