import type { JsonSchema, Schemas } from '../../api/openapi'
import { exampleIn, nameOf, resolved } from './schema'

/**
 * Returns an example for a schema, with all members. A text without an example is `…`.
 *
 * @param within the names of the enclosing schemas, which are not expanded again
 */
export function exampleOf(schema: JsonSchema, schemas: Schemas, within: readonly string[] = []): unknown {
  const name = nameOf(schema)
  if (name !== null)
    return within.includes(name) ? {} : exampleOf(resolved(schema, schemas), schemas, [...within, name])
  const given = exampleIn(schema) ?? schema.default ?? schema.const ?? schema.enum?.[0]
  if (given !== undefined) return given
  const { anyOf, items, properties } = schema
  if (anyOf !== undefined) return exampleOf(anyOf.find(({ type }) => type !== 'null') ?? {}, schemas, within)
  if (items !== undefined) return [exampleOf(items, schemas, within)]
  if (properties !== undefined)
    return Object.fromEntries(
      Object.entries(properties).map(([member, one]) => [member, exampleOf(one, schemas, within)]),
    )
  return EXAMPLES[[schema.type].flat()[0] ?? ''] ?? bounded(schema)
}

const EXAMPLES: Readonly<Record<string, unknown>> = { string: '…', boolean: true, object: {}, array: [], null: null }

function bounded({ minimum = 0, exclusiveMinimum }: JsonSchema): number {
  return exclusiveMinimum === undefined ? Math.max(0, minimum) : exclusiveMinimum + 1
}
