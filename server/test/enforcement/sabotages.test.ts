/** A suite is worth what it catches. */
import { expectCaught } from '@countersign/testkit/enforcement-suite'
import { describe, it } from 'vitest'
import { useDecisionPoint } from './running-point.js'
import { SABOTAGES } from './sabotages.js'

/** What never comes is not waited for any longer. */
const PATIENCE_MS = 2_000

const point = useDecisionPoint()

describe.concurrent('the enforcement suite catches a guard that', () => {
  it.each(SABOTAGES)('$what', ({ broken, caughtBy }) => expectCaught(caughtBy, broken, point(), PATIENCE_MS))
})
