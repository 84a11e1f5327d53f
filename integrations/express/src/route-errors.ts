/** Catches the errors of handlers after a guard, for guards that do not wrap them. */
import type { ErrorRequestHandler, Request } from 'express'
import { noteError } from './response-end.js'

/** A route as Express documents it, with its methods: `_all` for a route of all methods. */
interface Route {
  readonly methods: Readonly<Record<string, boolean | undefined>>
  readonly [method: string]: unknown
}

const heard = new WeakSet<Route>()

const tell: ErrorRequestHandler = (error: unknown, _req, res, next) => {
  noteError(res, error)
  next(error)
}

/**
 * Adds, once, an error handler after the handlers of the request's route. It passes every error on. Before routing
 * there is no route to observe.
 */
export function hearRoute({ route }: Request): void {
  if (!isRoute(route) || heard.has(route)) return
  heard.add(route)
  // Only for the methods that the route already has.
  for (const name of Object.keys(route.methods)) {
    const add = route[name === '_all' ? 'all' : name]
    if (typeof add === 'function') Reflect.apply(add, route, [tell])
  }
}

function isRoute(route: unknown): route is Route {
  const { methods, all } = Object(route)
  return typeof methods === 'object' && methods !== null && typeof all === 'function'
}
