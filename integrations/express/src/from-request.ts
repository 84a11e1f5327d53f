import { atOnce, noteFaultPlace } from '@countersign/client/kernel'
import type { Request } from 'express'
import { readStrictly } from './strict-params.js'

/** A value, or a function that reads it from the request. */
export type FromRequest<Value, Req> = Value | ((req: Req) => Value)

/** @throws TypeError for a promise and for a misspelt name of `req.params`, and the errors of the function */
export function resolved<Value>(option: string, given: FromRequest<Value, Request>, req: Request): Value {
  if (typeof given !== 'function') return given
  const read = given as (req: Request) => Value
  try {
    return atOnce(
      option,
      readStrictly(req, () => read(req)),
    )
  } catch (error) {
    noteFaultPlace(error, `${routeOf(req)} ${option}`)
    throw error
  }
}

const namesOfRoutes = new WeakMap<object, string>()
const routesOfPaths = new Map<string, number>()

/**
 * Returns the route as the developer wrote it, without anything that a caller sends. Routes with the same path in
 * several routers are numbered.
 */
export function routeOf({ route }: Request): string {
  if (route === undefined) return 'a guard before the routes'
  const known = namesOfRoutes.get(route)
  if (known !== undefined) return known
  const path = String(route.path)
  const number = (routesOfPaths.get(path) ?? 0) + 1
  const name = `the route ${path}${number === 1 ? '' : ` (number ${number} of this path)`}`
  routesOfPaths.set(path, number)
  namesOfRoutes.set(route, name)
  return name
}
