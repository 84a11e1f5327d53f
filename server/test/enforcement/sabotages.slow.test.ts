/** A suite is worth what it catches. */
import { caseOf, expectCaught, type Sabotage, sabotageSuite } from '@countersign/testkit/enforcement-suite'
import { describe, expect, it } from 'vitest'
import { guardAdapter, plainAdapter } from './plain-functions.js'
import { useDecisionPoint } from './running-point.js'
import { inSpiteOf } from './sabotages/breaking.js'
import { SABOTAGES } from './sabotages.js'

const point = useDecisionPoint()
sabotageSuite(SABOTAGES, point)

describe('a guard that is said to be caught', () => {
  const what = 'is tried out'
  const ignoring = plainAdapter(
    'ignoring',
    inSpiteOf(({ reason }) => reason === 'denied'),
  )
  const mute = plainAdapter('mute', () => new Promise(() => undefined))
  it.each<[string, string, Pick<Sabotage, 'broken' | 'sound' | 'neverComes'>, string]>([
    [
      'keeps the promise',
      'does not run what is denied',
      { broken: guardAdapter, sound: guardAdapter },
      'AssertionError',
    ],
    ['is made of none that keeps it', 'does not run what is denied', { broken: ignoring, sound: ignoring }, 'Error'],
    [
      'only takes longer than anybody waits',
      'does not run what is denied',
      { broken: mute, sound: guardAdapter },
      'AssertionError',
    ],
    [
      'fails at once where something should never come',
      'does not run what is denied',
      { broken: ignoring, sound: guardAdapter, neverComes: 'its answer' },
      'AssertionError',
    ],
  ])('is not, when it %s', async (_how, title, sabotage, name) => {
    const caught = expectCaught({ what, caughtBy: [title], ...sabotage }, caseOf(title), point(), 2_000)
    await expect(caught).rejects.toMatchObject({ name })
  })
})
