import type { Application, IRouter } from 'express'
import type { RouteGuard } from './guarded-handler.js'
import { type NeededParameter, neededBy } from './name-template.js'
import { parametersOf, pathsOf } from './route-parameters.js'

const templates = new WeakMap<object, readonly NeededParameter[]>()

/** Records which route parameters the templates of a guard need. */
export function noteTemplates(guard: RouteGuard, options: readonly unknown[]): RouteGuard {
  templates.set(guard, options.flatMap(neededBy))
  return guard
}

/** The parts of an Express router that are read here. */
interface RouterParts {
  readonly mergeParams?: boolean
  readonly stack: readonly Layer[]
}
interface Layer {
  readonly handle: unknown
  readonly route?: { readonly path: unknown; readonly stack: readonly Layer[] }
  /** Absent in older routers of Express 5. */
  readonly rawPath?: unknown
}

/**
 * Checks that every route has the parameters that the templates of its guards name, such as `order:{params.id}`. Call
 * it at the start, after the routes; `app.use(permitErrors())` calls it for the routes before it. Check a mounted app
 * separately. A guard that cannot be checked here refuses at the request.
 *
 * @throws TypeError naming the route, the template and the parameter, and for an app of Express 4
 *
 * Source: docs/express.md "Templates".
 */
export function checkRoutes(app: Application | IRouter): void {
  // Its `router` throws a sentence about Express 3.
  if ('lazyrouter' in app) throw new TypeError('this app was made by Express 4: @countersign/express needs Express 5')
  const router: unknown = 'router' in app ? app.router : app
  if (isRouter(router)) checkRouter(router, [])
}

/**
 * @param above the parameters of the paths that it is mounted at; null when they are unknown
 * @param around the routers that it is mounted in, so that a router mounted in itself is checked once
 */
function checkRouter(router: RouterParts, above: Iterable<string> | null, around: readonly unknown[] = []): void {
  if (around.includes(router)) return
  const { mergeParams, stack } = router
  for (const { handle, route, rawPath } of stack) {
    const path = route?.path ?? rawPath
    for (const one of pathsOf(path)) {
      const own = one === undefined ? null : parametersOf(one)
      const inherited = mergeParams ? above : []
      const known = own === null || inherited === null ? null : new Set([...inherited, ...own])
      for (const guard of route?.stack.map((layer) => layer.handle) ?? [handle]) checkGuard(guard, one, known)
      if (isRouter(handle)) checkRouter(handle, known, [...around, router])
    }
  }
}

function checkGuard(guard: unknown, path: unknown, known: ReadonlySet<string> | null): void {
  if (typeof guard !== 'function' || known === null) return
  for (const { option, template, parameter } of templates.get(guard) ?? []) {
    if (known.has(parameter)) continue
    const has = known.size === 0 ? 'no parameters' : [...known].join(', ')
    throw new TypeError(
      `the route ${String(path)} has no parameter ${parameter}, which its guard names in ${option}: '${template}'. It has ${has}.`,
    )
  }
}

function isRouter(value: unknown): value is RouterParts {
  return typeof value === 'function' && 'stack' in value && Array.isArray(value.stack)
}
