/** Describes a schema in words. */
import type { JsonSchema, Schemas } from '../../api/openapi'

/** Follows the reference of a schema. */
export function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const name = nameOf(schema)
  return name === null ? schema : (schemas[name] ?? {})
}

/** Returns the name of the referenced schema; null for a schema that is not a reference. */
export function nameOf({ $ref }: JsonSchema): string | null {
  return $ref === undefined ? null : $ref.slice($ref.lastIndexOf('/') + 1)
}

/** Returns `string`, `list of Rule` or `Budget or null`. */
export function typeOf(schema: JsonSchema): string {
  const name = nameOf(schema)
  if (name !== null) return name
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`
  if (schema.type === undefined) return schema.enum === undefined ? 'any JSON' : 'string'
  return [schema.type].flat().join(' or ')
}

/** The schema and its alternatives. */
function formsOf(schema: JsonSchema): readonly JsonSchema[] {
  return [schema, ...(schema.anyOf ?? [])]
}

/** Returns the allowed values; empty where they cannot be listed. */
export function valuesOf(schema: JsonSchema): readonly unknown[] {
  return [schema, ...(schema.items === undefined ? [] : [schema.items])]
    .flatMap(formsOf)
    .flatMap((one) => one.enum ?? [])
}

/** Returns the description of the schema, or else of one of its alternatives. */
export function descriptionOf(schema: JsonSchema): string | null {
  return formsOf(schema).find((one) => one.description !== undefined)?.description ?? null
}

/** Returns an example of the schema, or else of one of its alternatives; undefined for none. */
export function exampleIn(schema: JsonSchema): unknown {
  return formsOf(schema).find((one) => one.examples !== undefined)?.examples?.[0]
}

/** Returns constraints such as `1 to 256 characters`, `at least 1 item` or `above 0`. */
export function constraintsOf(schema: JsonSchema): string[] {
  const told = formsOf(schema).flatMap((form) => {
    const { minLength, maxLength, minItems, maxItems, minimum, maximum, exclusiveMinimum, pattern } = form
    return [
      ...range(minLength, maxLength, 'character'),
      ...range(minItems, maxItems, 'item'),
      ...range(minimum, maximum),
      ...(exclusiveMinimum === undefined ? [] : [`above ${exclusiveMinimum}`]),
      ...(pattern === undefined ? [] : [`matches \`${pattern}\``]),
      ...(form.default === undefined ? [] : [`default \`${JSON.stringify(form.default)}\``]),
    ]
  })
  return [...new Set(told)]
}

function range(from: number | undefined, to: number | undefined, unit?: string): string[] {
  // The range of safe integers is not a constraint.
  const isGiven = (value: number | undefined) => value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER
  const of = (count: number) => (unit === undefined ? '' : ` ${unit}${count === 1 ? '' : 's'}`)
  if (isGiven(from) && isGiven(to)) return [`${from} to ${to}${of(to as number)}`]
  if (isGiven(to)) return [`up to ${to}${of(to as number)}`]
  return isGiven(from) && (from !== 0 || unit === undefined) ? [`at least ${from}${of(from as number)}`] : []
}

export interface Member {
  /** The name, or the pattern of the names. */
  readonly name: string
  readonly isPattern: boolean
  readonly isRequired: boolean
  readonly schema: JsonSchema
}

/** Returns the members of an object; empty for any other value. A sent value has no members that the server sets. */
export function membersOf(schema: JsonSchema, isSent: boolean): Member[] {
  const { properties = {}, patternProperties = {}, required = [] } = schema
  const named = Object.entries(properties)
    .filter(([, member]) => !isSent || member.readOnly !== true)
    .map(([name, member]) => ({ name, isPattern: false, isRequired: required.includes(name), schema: member }))
  const matched = Object.entries(patternProperties).map(([name, member]) => ({
    name,
    isPattern: true,
    isRequired: false,
    schema: member,
  }))
  return [...named, ...matched]
}

/** Returns the objects that a value can be or contain, with the names of their schemas. */
export function objectsIn(
  schema: JsonSchema,
  schemas: Schemas,
  isSent: boolean,
): (readonly [name: string | null, JsonSchema])[] {
  const own = resolved(schema, schemas)
  const inner = own.anyOf ?? (own.items === undefined ? [] : [own.items])
  if (membersOf(own, isSent).length > 0) return [[nameOf(schema), own]]
  return inner.flatMap((one) => objectsIn(one, schemas, isSent))
}
