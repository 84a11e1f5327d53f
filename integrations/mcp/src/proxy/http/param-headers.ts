/**
 * `Mcp-Param-…` headers, which repeat arguments of a call for proxies on the way. The schema of a tool names them by `x-mcp-header`
 * (2026-07-28), and the server refuses a call without them.
 */
import { ExactNumber } from '../../json/exact-number.js'
import { toolName, toolsOfPage } from '../../lists/tool-pages.js'
import { isObject } from '../../messages/json-rpc.js'
import { headerText } from './mcp-headers.js'
import type { Headers } from './upstream-endpoint.js'

const DECLARATION = 'x-mcp-header'
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** The depth at which schemas are no longer searched. */
const MAX_DEPTH = 20

interface Declared {
  readonly header: string
  /** The names of the members that lead to the argument. */
  readonly path: readonly string[]
}

export class ParamHeaders {
  /** By tool name. Tools without such headers are left out. */
  readonly #declared = new Map<string, readonly Declared[]>()

  /** @param result of `tools/list`; any other result has no tools */
  note(result: unknown): void {
    if (!isObject(result)) return
    for (const tool of toolsOfPage(result)) {
      const name = toolName(tool)
      if (name === undefined) continue
      this.#declared.delete(name)
      const declared = declaredIn((tool as { readonly inputSchema?: unknown }).inputSchema, [])
      if (declared.length > 0) this.#declared.set(name, declared)
    }
  }

  /** The headers of a `tools/call`. None if the tool is unknown. */
  of({ name, arguments: args }: Readonly<Record<string, unknown>>): Headers {
    const declared = this.#declared.get(String(name)) ?? []
    return Object.fromEntries(
      declared.flatMap(({ header, path }) => {
        const text = textOfArgument(path.reduce<unknown>(memberOf, args))
        return text === undefined ? [] : [[header, headerText(text)]]
      }),
    )
  }
}

function declaredIn(schema: unknown, path: readonly string[]): readonly Declared[] {
  if (!isObject(schema) || path.length > MAX_DEPTH) return []
  const name = schema[DECLARATION]
  const own = typeof name === 'string' && TOKEN.test(name) ? [{ header: `mcp-param-${name.toLowerCase()}`, path }] : []
  const properties = isObject(schema.properties) ? Object.entries(schema.properties) : []
  return [...own, ...properties.flatMap(([member, inner]) => declaredIn(inner, [...path, member]))]
}

function memberOf(value: unknown, name: string): unknown {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** Undefined for values that no header repeats. */
function textOfArgument(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  return value instanceof ExactNumber ? String(value.valueOf()) : undefined
}
