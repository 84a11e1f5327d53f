/** The parts of the OpenAPI document that pages read. `server/src/http/openapi.ts` writes it. */
import { ApiError } from './client'

export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly propertyNames?: JsonSchema
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly examples?: readonly unknown[]
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly exclusiveMinimum?: number
  readonly readOnly?: boolean
}

export type Schemas = Readonly<Record<string, JsonSchema>>

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: JsonSchema
}

export interface DocumentedResponse extends Content {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly description?: string; readonly schema: JsonSchema }>>
}

export interface DocumentedOperation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Content & { readonly required: boolean }
  readonly responses: Readonly<Record<string, DocumentedResponse>>
}

export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly description?: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>
  readonly components: { readonly schemas: Schemas }
}

/** @throws ApiError */
export async function readOpenApi(): Promise<OpenApiDocument> {
  const answer = await fetch('/openapi.json', { credentials: 'omit' }).catch(() => {
    throw new ApiError('The server is not responding. Is it running?', 0, null)
  })
  if (!answer.ok) throw new ApiError(`The server responded with status ${answer.status}.`, answer.status, null)
  return (await answer.json()) as OpenApiDocument
}
