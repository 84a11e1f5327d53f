/**
 * Makes `req.params` strict for functions that map a request to a question: a misspelt name throws instead of giving
 * undefined.
 */
import type { Request } from 'express'
import { parametersOf, pathsOf } from './route-parameters.js'
import { shownInstead } from './shown-instead.js'

type Params = Request['params']

const strictViews = new WeakMap<Request, Params>()
const parametersOfRoutes = new WeakMap<object, ReadonlySet<string>>()

/** Members that are looked up on any object, to see whether it is a promise or has its own JSON form. */
const PROBED: ReadonlySet<string> = new Set(['then', 'toJSON'])

/** `req.params` as the functions that map the request see it. */
export function strictViewOf(req: Request): Params | undefined {
  return strictViews.get(req)
}

/** Runs `read`. Within it, `req.params` throws a TypeError on names that the route does not have. */
export function readStrictly<Value>(req: Request, read: () => Value): Value {
  const params: unknown = req.params
  if (typeof params !== 'object' || params === null) return read()
  const view = strictView(req, params as Params)
  // Frozen parameters are read through `strictViewOf`.
  strictViews.set(req, view)
  try {
    return shownInstead(req, 'params', { writable: true, value: view }, read)
  } finally {
    strictViews.delete(req)
  }
}

function strictView(req: Request, params: Params): Params {
  const route: { path?: unknown } | undefined = req.route
  return new Proxy(params, {
    get(target, name) {
      if (typeof name === 'symbol' || name in target || PROBED.has(name)) return Reflect.get(target, name)
      // A parameter of the path that this request omits.
      const known = route === undefined ? new Set<string>() : parametersOfRoute(route)
      if (known.has(name)) return undefined
      const names = [...new Set([...known, ...Object.keys(target)])]
      const where = route === undefined ? 'there is no route here' : `the route ${String(route.path)}`
      const has = names.length === 0 ? 'with no parameters' : `with ${names.join(', ')}`
      // The request does not say which parameters the mount paths of its router have.
      const ofMount = req.baseUrl === '' ? '' : `. For an optional one of a mount ask \`'${name}' in req.params\` first`
      throw new TypeError(`req.params has no ${name}: ${where}, ${has}${ofMount}`)
    },
  })
}

function parametersOfRoute(route: { path?: unknown }): ReadonlySet<string> {
  const known = parametersOfRoutes.get(route)
  if (known !== undefined) return known
  const found = new Set(pathsOf(route.path).flatMap((path) => [...parametersOf(path)]))
  parametersOfRoutes.set(route, found)
  return found
}
