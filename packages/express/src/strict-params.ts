/** What maps a request to a question reads `req.params` strictly: a misspelt name is a fault there, and not undefined. */
import type { Request } from 'express'
import { parametersOf, pathsOf } from './route-parameters.js'

type Params = Request['params']

const strictViews = new WeakMap<Request, Params>()
const parametersOfRoutes = new WeakMap<object, ReadonlySet<string>>()

/** What is looked for in any object, to see whether it is a promise or has a form of its own in JSON. */
const PROBED: ReadonlySet<string> = new Set(['then', 'toJSON'])

/** What `req.params` is for whoever maps the request right now. */
export function strictViewOf(req: Request): Params | undefined {
  return strictViews.get(req)
}

/** `read` at once, during which `req.params` throws a TypeError on names that the route does not have. */
export function readStrictly<Value>(req: Request, read: () => Value): Value {
  const params: unknown = req.params
  if (typeof params !== 'object' || params === null) return read()
  const view = strictView(req, params as Params)
  const present = Object.getOwnPropertyDescriptor(req, 'params')
  strictViews.set(req, view)
  // Where the parameters are held, they are read through `strictViewOf`.
  const isReplaced =
    present?.configurable !== false &&
    Reflect.defineProperty(req, 'params', { configurable: true, enumerable: true, writable: true, value: view })
  try {
    return read()
  } finally {
    strictViews.delete(req)
    if (isReplaced && present !== undefined) Object.defineProperty(req, 'params', present)
    else if (isReplaced) Reflect.deleteProperty(req, 'params')
  }
}

function strictView(req: Request, params: Params): Params {
  const route: { path?: unknown } | undefined = req.route
  return new Proxy(params, {
    get(target, name) {
      if (typeof name === 'symbol' || name in target || PROBED.has(name)) return Reflect.get(target, name)
      // One that the path has and this request leaves out.
      const known = route === undefined ? new Set<string>() : parametersOfRoute(route)
      if (known.has(name)) return undefined
      const names = [...new Set([...known, ...Object.keys(target)])]
      const where = route === undefined ? 'there is no route here' : `the route ${String(route.path)}`
      const has = names.length === 0 ? 'with no parameters' : `with ${names.join(', ')}`
      throw new TypeError(`req.params has no ${name}: ${where}, ${has}`)
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
