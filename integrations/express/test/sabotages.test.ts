/** Guarded routes that break a promise on purpose: the enforcement suite notices each, in the case that it is named for. */
import { RouteDeniedError } from '@countersign/express'
import { caseOf, expectCaught, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { describe, it } from 'vitest'

import { guardedRoutes, type RouteParts } from './guarded-routes.js'

/** Runs the handler in spite of a refusal of this kind. */
const inSpiteOf =
  (code: string) =>
  ({ guarded, act }: RouteParts): RouteParts => ({
    act,
    guarded: (req, res, next) =>
      guarded(req, res, (error?: unknown) => {
        const isIgnored = RouteDeniedError.isInstance(error) && error.code === code
        return isIgnored ? next() : next(error)
      }),
  })

const SABOTAGES: readonly { what: string; change: (parts: RouteParts) => RouteParts; caughtBy: string }[] = [
  {
    what: 'runs what is denied',
    change: inSpiteOf('denied'),
    caughtBy: 'does not run what is denied',
  },
  {
    what: 'runs what awaits a review',
    change: inSpiteOf('review_required'),
    caughtBy: 'does not run what awaits a review',
  },
  {
    what: 'runs twice',
    change: ({ guarded, act }) => ({
      guarded,
      act: async (given) => {
        await act(given)
        return act(given)
      },
    }),
    caughtBy: 'runs what is allowed once',
  },
  {
    what: 'confirms before the handler runs',
    change: ({ guarded, act }) => ({
      act,
      guarded: (req, res, next) =>
        guarded(req, res, async (error?: unknown) => {
          await req.permit?.confirm()
          next(error)
        }),
    }),
    caughtBy: 'tells nothing before the action has ended',
  },
  {
    what: 'swallows the error of the handler',
    change: ({ guarded, act }) => ({ guarded, act: (given) => act(given).catch(() => ({ value: {} })) }),
    caughtBy: 'rejects what failed, and gives the caller the own error',
  },
]

const point = useDecisionPoint()

describe('the enforcement suite catches a route that', () => {
  it.each(SABOTAGES)('$what: $caughtBy', { timeout: 180_000 }, ({ what, change, caughtBy }) =>
    expectCaught(
      { what, broken: guardedRoutes(what, change), sound: guardedRoutes('a guarded route'), caughtBy: [caughtBy] },
      caseOf(caughtBy),
      point(),
    ),
  )
})
