import { DomainError } from '../domain-error.js'
import type { Route } from './route.js'

/** The result of looking up a path: a route, or the error that answers the request. */
export type Found =
  | { readonly template: string; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly template: string | null; readonly route: null; readonly error: DomainError }

/** The routes of one path. */
interface Place {
  readonly template: string
  /** Matches the paths of the template; a parameter matches one non-empty segment. */
  readonly form: RegExp
  readonly routes: Map<string, Route>
}

/** Finds the route of a path. A literal segment wins over a parameter: `self` in `/v1/keys/self` is not an id. */
export class Router {
  private readonly places = new Map<string, Place>()

  constructor(routes: readonly Route[]) {
    // Relies on a brace sorting after all other characters of a template.
    for (const route of routes.toSorted((one, other) => (one.path < other.path ? -1 : Number(one.path > other.path)))) {
      const { method, path } = route
      const place = this.places.get(path) ?? { template: path, form: formOf(path), routes: new Map() }
      place.routes.set(method, route)
      this.places.set(path, place)
    }
  }

  /**
   * @param path as it was sent, without the query
   */
  find(method: string, path: string): Found {
    const place = this.places.get(path) ?? this.placeOf(path)
    if (place === undefined) return { template: null, route: null, error: new DomainError('not_found') }
    const { template, form, routes } = place
    const route = routes.get(method === 'HEAD' ? 'GET' : method)
    if (route === undefined) return { template, route: null, error: methodNotAllowed([...routes.keys()]) }
    const params: Record<string, string> = {}
    try {
      for (const [name, value] of Object.entries(form.exec(path)?.groups ?? {}))
        params[name] = decodeURIComponent(value)
    } catch {
      // A path that cannot be decoded does not exist.
      return { template, route: null, error: new DomainError('not_found') }
    }
    return { template, route, params }
  }

  private placeOf(path: string): Place | undefined {
    for (const place of this.places.values()) if (place.form.test(path)) return place
    return undefined
  }
}

function formOf(template: string): RegExp {
  return new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
}

/** HEAD is allowed wherever GET is. */
export function methodNotAllowed(methods: readonly string[]): DomainError {
  const list = methods.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)).join(', ')
  return new DomainError('method_not_allowed', { detail: `Allowed methods: ${list}.`, headers: { Allow: list } })
}
