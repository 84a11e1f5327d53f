/** Looks up a place of a policy in the schema of the API. */
import type { JsonSchema, OpenApiDocument } from '../../api/openapi'
import type { JsonPath } from '../../components/json/json-tree'

export interface Suggestion {
  readonly text: string
  /** The type of the value, or `value`. */
  readonly detail: string
  readonly info?: string
  /** The start of the value, written after a name. */
  readonly starter?: string
}

/** The schemas that describe the value at a path. */
export type Schemas = readonly JsonSchema[]

/** Returns the schemas of the policy that `POST /v1/policies` accepts. */
function policySchemas(document: OpenApiDocument): Schemas {
  const body = document.paths['/v1/policies']?.post?.requestBody?.content?.['application/json']
  return body === undefined ? [] : expand(document, body.schema)
}

export function schemasAt(document: OpenApiDocument, path: JsonPath): Schemas {
  return path.reduce<Schemas>(
    (schemas, step) =>
      schemas.flatMap((schema) => childrenOf(schema, step).flatMap((child) => expand(document, child))),
    policySchemas(document),
  )
}

/**
 * Returns the names that an object may have.
 *
 * @param known paths of facts, suggested where a name has a pattern
 */
export function namesIn(document: OpenApiDocument, schemas: Schemas, known: readonly string[]): Suggestion[] {
  return schemas.flatMap(({ properties = {}, patternProperties = {}, propertyNames }) => [
    ...Object.entries(properties)
      .filter(([, schema]) => schema.readOnly !== true)
      .map(([text, schema]) => nameOf(text, expand(document, schema), schema.description)),
    ...(propertyNames?.anyOf ?? [])
      .flatMap((names) => textsOf(names, known))
      .map((text) => {
        const children = Object.entries(patternProperties).filter(([pattern]) => new RegExp(pattern, 'u').test(text))
        return nameOf(
          text,
          children.flatMap(([, schema]) => expand(document, schema)),
          undefined,
        )
      }),
  ])
}

/** Returns the values that a place may have, where they can be listed. */
export function valuesOf(schemas: Schemas, known: readonly string[]): Suggestion[] {
  return schemas.flatMap((schema): Suggestion[] => {
    if (schema.type === 'boolean') return ['true', 'false'].map((text) => ({ text, detail: 'value' }))
    return textsOf(schema, known).map((text) => ({ text: JSON.stringify(text), detail: 'value' }))
  })
}

function textsOf({ enum: values = [], pattern }: JsonSchema, known: readonly string[]): string[] {
  const named = values.filter((value) => typeof value === 'string')
  if (pattern === undefined) return named
  const test = new RegExp(pattern, 'u')
  return [...named, ...new Set([...alternativesOf(pattern), ...known])].filter((text) => test.test(text))
}

/** Returns the first names of a pattern such as `^(action|resource\.id|…(…)+)$`. */
function alternativesOf(pattern: string): string[] {
  const [, names = ''] = /^\^\(([^()]*)\|/.exec(pattern) ?? []
  return names.split('|').map((name) => name.replaceAll('\\', ''))
}

function nameOf(text: string, schemas: Schemas, description: string | undefined): Suggestion {
  const info = description ?? schemas.find((schema) => schema.description !== undefined)?.description
  const types = [...new Set(schemas.flatMap(({ type = [] }) => type))]
  return { text, detail: types.join(' or '), ...(info !== undefined && { info }), starter: starterOf(types) }
}

function starterOf(types: readonly string[]): string {
  if (types.length !== 1) return ''
  return { object: '{}', array: '[]', string: '""' }[types[0] as string] ?? ''
}

function childrenOf({ properties, patternProperties = {}, items }: JsonSchema, step: string | number): JsonSchema[] {
  if (typeof step === 'number') return items === undefined ? [] : [items]
  const named = properties !== undefined && Object.hasOwn(properties, step) ? properties[step] : undefined
  if (named !== undefined) return [named]
  return Object.entries(patternProperties)
    .filter(([pattern]) => new RegExp(pattern, 'u').test(step))
    .map(([, schema]) => schema)
}

/** Follows the reference of a schema, and splits its alternatives. */
function expand(document: OpenApiDocument, schema: JsonSchema): JsonSchema[] {
  if (schema.$ref !== undefined) {
    const target = document.components.schemas[schema.$ref.replace('#/components/schemas/', '')]
    return target === undefined ? [] : expand(document, target)
  }
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap((one) => expand(document, one))
}
