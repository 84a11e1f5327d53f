/** What a schema says, in words. */
import type { JsonSchema, Schemas } from '../../api/openapi'

/** The schema itself, where it is a reference. */
export function resolved(schema: JsonSchema, schemas: Schemas): JsonSchema {
  const name = nameOf(schema)
  return name === null ? schema : (schemas[name] ?? {})
}

/** The name of the schema that is referred to; null for one that stands for itself. */
export function nameOf({ $ref }: JsonSchema): string | null {
  return $ref === undefined ? null : $ref.slice($ref.lastIndexOf('/') + 1)
}

/** `string`, `list of Rule`, `Budget or null`. */
export function typeOf(schema: JsonSchema): string {
  const name = nameOf(schema)
  if (name !== null) return name
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(' or ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`
  if (schema.type === undefined) return schema.enum === undefined ? 'any JSON' : 'string'
  return [schema.type].flat().join(' or ')
}

/** The forms that a value can have. */
function formsOf(schema: JsonSchema): readonly JsonSchema[] {
  return [schema, ...(schema.anyOf ?? [])]
}

/** The values that are allowed; empty where they cannot be listed. */
export function valuesOf(schema: JsonSchema): readonly unknown[] {
  return [schema, ...(schema.items === undefined ? [] : [schema.items])]
    .flatMap(formsOf)
    .flatMap((one) => one.enum ?? [])
}

/** The description, of one of the forms where the schema itself has none. */
export function descriptionOf(schema: JsonSchema): string | null {
  return formsOf(schema).find((one) => one.description !== undefined)?.description ?? null
}

/** An example, of one of the forms where the schema itself has none; undefined without one. */
export function exampleIn(schema: JsonSchema): unknown {
  return formsOf(schema).find((one) => one.examples !== undefined)?.examples?.[0]
}

/** `1 to 256 characters`, `at least 1 item`, `above 0`: what a value must fulfil. */
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
  // Whatever fits into a number is no constraint.
  const isGiven = (value: number | undefined) => value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER
  const of = (count: number) => (unit === undefined ? '' : ` ${unit}${count === 1 ? '' : 's'}`)
  if (isGiven(from) && isGiven(to)) return [`${from} to ${to}${of(to as number)}`]
  if (isGiven(to)) return [`up to ${to}${of(to as number)}`]
  return isGiven(from) && (from !== 0 || unit === undefined) ? [`at least ${from}${of(from as number)}`] : []
}

export interface Member {
  /** The name, or the pattern that names match. */
  readonly name: string
  readonly isPattern: boolean
  readonly isRequired: boolean
  readonly schema: JsonSchema
}

/** The members of an object; empty for any other value. Those that the server sets are left out of what is sent. */
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

/** The objects with members that a value can be or can hold, by their names. */
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
