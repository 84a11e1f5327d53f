/** The request stays what was asked about: `body`, `query` and `params` as the mapping functions read them. */
import { DeniedError } from '@countersign/client'
import { frozenCopy } from '@countersign/client/kernel'
import type { Request } from 'express'
import { isRoutedAway, type Place, placeOf } from './request-place.js'
import { strictViewOf } from './strict-params.js'
import { assertParsed } from './unparsed-body.js'

const WHOLE = ['body', 'query'] as const
type Whole = (typeof WHOLE)[number]
const AS_SENT = { keepsProto: true } as const

/** The parameters of one route. */
interface HeldParams {
  place: Place
  frozen: Request['params']
  /** What the router made of them elsewhere. */
  present: Request['params']
}

const heldParts = new WeakMap<Request, Set<Whole>>()
const heldParams = new WeakMap<Request, HeldParams>()

/**
 * Puts frozen copies in the place of `body` and `query`, for as long as there is the request: a decision about it may be
 * what any later route runs on. The router gives each route `params` of its own, so those are held in this route alone.
 *
 * @throws DeniedError (`arguments_refused`) for what cannot be frozen
 */
export function holdRequest(req: Request): void {
  const held = heldParts.get(req) ?? new Set()
  heldParts.set(req, held)
  try {
    for (const part of WHOLE) {
      if (!held.has(part)) holdWhole(req, part)
      held.add(part)
    }
    // Before many routes there are none yet.
    if (req.route) holdParams(req)
  } catch (cause) {
    throw new DeniedError('arguments_refused', { cause })
  }
}

function holdWhole(req: Request, part: Whole): void {
  const frozen = frozenCopy<unknown>(req[part], `req.${part}`, AS_SENT)
  const present = Object.getOwnPropertyDescriptor(req, part)
  // As validators define it: it may not become an accessor any more, but it can be written for the last time.
  if (present?.configurable === false && present.writable === true) {
    Object.defineProperty(req, part, { value: frozen, writable: false })
    return
  }
  define(
    req,
    part,
    () => {
      if (frozen === undefined && part === 'body') assertParsed(req)
      return frozen
    },
    () => {
      throw new TypeError(`req.${part} is held as it was asked about: what changes it has to come before the guard`)
    },
  )
}

function holdParams(req: Request): void {
  const known = heldParams.get(req)
  if (known !== undefined && !isRoutedAway(req, known.place)) return
  const frozen = frozenCopy(req.params, 'req.params', AS_SENT)
  const here = { place: placeOf(req), frozen, present: frozen }
  if (known !== undefined) {
    Object.assign(known, here)
    return
  }
  const held: HeldParams = here
  define(
    req,
    'params',
    () => strictViewOf(req) ?? (isRoutedAway(req, held.place) ? held.present : held.frozen),
    // The router is on its way to another route: what it sets is for there.
    (value) => {
      held.present = value
    },
  )
  heldParams.set(req, held)
}

/** @throws TypeError for what was defined for good */
function define<Part extends Whole | 'params'>(
  req: Request,
  part: Part,
  get: () => unknown,
  set: (value: Request[Part]) => void,
): void {
  // Not configurable, as a property that is there already might be otherwise.
  if (Reflect.defineProperty(req, part, { enumerable: true, configurable: false, get, set })) return
  throw new TypeError(
    `req.${part} cannot be held, as it is defined for good: define it with configurable: true, before the guard`,
  )
}
