import { DomainError } from '../domain-error.js'
import type { Route } from './route.js'

/** What is at a path: a route, or the error that answers the request. */
export type Found =
  | { readonly template: string; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly template: string | null; readonly route: null; readonly error: DomainError }

/** The routes of one path. */
interface Leaf {
  readonly template: string
  readonly routes: Map<string, Route>
  readonly names: readonly string[]
}

/** The paths that go on from a place in the tree: with a literal segment, or with a parameter. */
class Node {
  readonly literals = new Map<string, Node>()
  parameter: Node | null = null
  leaf: Leaf | null = null
}

/** Finds the route of a path. A literal segment comes before a parameter: `self` in `/v1/keys/self` is not an id. */
export class Router {
  private readonly root = new Node()

  constructor(routes: readonly Route[]) {
    for (const route of routes) this.add(route)
  }

  /**
   * @param path as it was sent, without the query
   */
  find(method: string, path: string): Found {
    const values: string[] = []
    const leaf = leafOf(this.root, path.split('/'), 0, values)
    if (leaf === null) return { template: null, route: null, error: new DomainError('not_found') }
    const { template, routes, names } = leaf
    const route = routes.get(method === 'HEAD' ? 'GET' : method)
    if (route === undefined) return { template, route: null, error: methodNotAllowed([...routes.keys()]) }
    const params: Record<string, string> = {}
    try {
      for (const [i, name] of names.entries()) params[name] = decodeURIComponent(values[i] as string)
    } catch {
      // What cannot be decoded does not exist.
      return { template, route: null, error: new DomainError('not_found') }
    }
    return { template, route, params }
  }

  private add(route: Route): void {
    const names: string[] = []
    let node = this.root
    for (const segment of route.path.split('/')) {
      const name = /^\{(\w+)\}$/.exec(segment)?.[1]
      if (name === undefined) {
        const next = node.literals.get(segment) ?? new Node()
        node.literals.set(segment, next)
        node = next
      } else {
        names.push(name)
        node.parameter ??= new Node()
        node = node.parameter
      }
    }
    node.leaf ??= { template: route.path, routes: new Map(), names }
    node.leaf.routes.set(route.method, route)
  }
}

/** @param values where the values of the parameters go */
function leafOf(node: Node, segments: readonly string[], at: number, values: string[]): Leaf | null {
  const segment = segments[at]
  if (segment === undefined) return node.leaf
  const literal = node.literals.get(segment)
  const found = literal === undefined ? null : leafOf(literal, segments, at + 1, values)
  if (found !== null || node.parameter === null || segment === '') return found
  values.push(segment)
  const below = leafOf(node.parameter, segments, at + 1, values)
  if (below === null) values.pop()
  return below
}

export function methodNotAllowed(allowed: readonly string[]): DomainError {
  const list = allowed.join(', ')
  return new DomainError('method_not_allowed', { detail: `Allowed methods: ${list}.`, headers: { Allow: list } })
}
