/** The request stays what was asked about: `body`, `query` and `params` as the mapping functions read them. */
import { DeniedError } from '@countersign/client'
import type { Request } from 'express'
import { frozenCopy } from './frozen-copy.js'

const PARTS = ['body', 'query', 'params'] as const
type Part = (typeof PARTS)[number]

/** One part of a request, which is the frozen copy in one route, or in all that comes below a guard of no route. */
interface HeldPart {
  /** Null below a guard of no route. */
  route: unknown
  baseUrl: string
  frozen: unknown
  /** What the app or the router made of it elsewhere. */
  present: unknown
}

const heldParts = new WeakMap<Request, Map<Part, HeldPart>>()

/**
 * Puts frozen copies in the place of `body`, `query` and `params`: in this route nothing changes them any more. The router
 * gives each route `params` of its own, so those are left to it elsewhere, and where there is no route.
 *
 * @throws DeniedError (`arguments_refused`) for what cannot be held still
 */
export function holdRequest(req: Request): void {
  const held = heldParts.get(req) ?? new Map<Part, HeldPart>()
  heldParts.set(req, held)
  const route: unknown = req.route ?? null
  const parts = route === null ? PARTS.filter((part) => part !== 'params') : PARTS
  try {
    for (const part of parts) holdPart(req, held, part, route)
  } catch (cause) {
    throw new DeniedError('arguments_refused', { cause })
  }
}

function holdPart(req: Request, held: Map<Part, HeldPart>, part: Part, route: unknown): void {
  const known = held.get(part)
  if (known !== undefined && isHeldHere(req, known)) return
  const given: unknown = req[part]
  const place = { route, baseUrl: req.baseUrl, frozen: frozenCopy(given, `req.${part}`) }
  if (known !== undefined) {
    Object.assign(known, place)
    return
  }
  const made = { ...place, present: given }
  held.set(part, made)
  define(req, part, made)
}

function define(req: Request, part: Part, held: HeldPart): void {
  Object.defineProperty(req, part, {
    enumerable: true,
    // Said, because a property that is there already would stay as it is.
    configurable: false,
    get: () => (isHeldHere(req, held) ? held.frozen : held.present),
    set(value: unknown) {
      // The router is on its way out of the route: what it sets is for elsewhere.
      if (part !== 'params' && isHeldHere(req, held)) {
        throw new TypeError(`req.${part} is held as it was asked about: what changes it has to come before the guard`)
      }
      held.present = value
    },
  })
}

function isHeldHere(req: Request, { route, baseUrl }: HeldPart): boolean {
  return route === null || (req.route === route && req.baseUrl === baseUrl)
}
