/** The OpenAPI document of this server, as far as pages read it. */
import { ApiError } from './client'

/** A JSON Schema, as far as completion follows it. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly pattern?: string
  readonly readOnly?: boolean
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly propertyNames?: JsonSchema
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
}

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
}

export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

/** @throws ApiError */
export async function readOpenApi(): Promise<OpenApiDocument> {
  const answer = await fetch('/openapi.json', { credentials: 'omit' }).catch(() => {
    throw new ApiError('The server does not answer. Is it running?', 0, null)
  })
  if (!answer.ok) throw new ApiError(`The server answers with status ${answer.status}.`, answer.status, null)
  return (await answer.json()) as OpenApiDocument
}
