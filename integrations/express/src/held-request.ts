/** Keeps the request as it was in the question: `body`, `query` and `params` as the mapping functions read them. */
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
  /** The value that the router has set elsewhere. */
  present: Request['params']
}

const heldParts = new WeakMap<Request, Set<Whole>>()
const heldParams = new WeakMap<Request, HeldParams>()

/**
 * Replaces `body` and `query` with frozen copies for the lifetime of the request, because any later route may run with
 * a decision about it. The router sets `params` for each route, so those are frozen only in this route.
 *
 * @throws DeniedError (`arguments_refused`) for a value that cannot be frozen
 */
export function holdRequest(req: Request): void {
  const held = heldParts.get(req) ?? new Set()
  heldParts.set(req, held)
  try {
    for (const part of WHOLE) {
      if (!held.has(part)) holdWhole(req, part)
      held.add(part)
    }
    // Before routing there are no parameters yet.
    if (req.route) holdParams(req)
  } catch (cause) {
    throw new DeniedError('arguments_refused', { cause })
  }
}

function holdWhole(req: Request, part: Whole): void {
  const frozen = frozenCopy<unknown>(req[part], `req.${part}`, AS_SENT)
  const present = Object.getOwnPropertyDescriptor(req, part)
  // Validators define it like this: it can no longer become an accessor, but it can be written one last time.
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
      throw new TypeError(`req.${part} is frozen after the question: code that changes it must come before the guard`)
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
    // The router is moving to another route, and sets the parameters of that one.
    (value) => {
      held.present = value
    },
  )
  heldParams.set(req, held)
}

/** @throws TypeError for a property that cannot be redefined */
function define<Part extends Whole | 'params'>(
  req: Request,
  part: Part,
  get: () => unknown,
  set: (value: Request[Part]) => void,
): void {
  // Explicitly not configurable, because an existing property may be configurable.
  if (Reflect.defineProperty(req, part, { enumerable: true, configurable: false, get, set })) return
  throw new TypeError(
    `req.${part} cannot be frozen, because it is not configurable: define it with configurable: true before the guard`,
  )
}
