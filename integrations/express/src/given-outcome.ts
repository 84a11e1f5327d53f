import type { ActionOutcome } from '@countersign/client'
import type { Request, Response } from 'express'
import { givenAtOnce } from './from-request.js'
import type { RouteOptions } from './guard-options.js'

const KINDS: ReadonlySet<unknown> = new Set(['succeeded', 'failed', 'unknown'])

/** What the option `outcome` says; undefined where it says nothing. A fault of its own is a FaultyOutcome. */
export function givenOutcome(
  outcome: NonNullable<RouteOptions['outcome']>,
  req: Request,
  res: Response,
): ActionOutcome | undefined {
  try {
    const given = givenAtOnce('outcome', outcome(req, res))
    if (given === undefined || KINDS.has(Object(given).kind)) return given
    throw new TypeError('outcome gave no outcome')
  } catch (error) {
    return new FaultyOutcome(error)
  }
}

/** What nobody can read: whoever settles by it leaves the decision, and tells of the fault. */
class FaultyOutcome {
  readonly #fault: unknown

  constructor(fault: unknown) {
    this.#fault = fault
  }

  get kind(): never {
    throw this.#fault
  }
}
