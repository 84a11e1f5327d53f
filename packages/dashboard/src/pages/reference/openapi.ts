/** What the page reads of the OpenAPI document, as `server/src/http/openapi.ts` makes it. */
import { readOpenApi } from '../../api/openapi'

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
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

export type Schemas = Readonly<Record<string, Schema>>

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: Schema
}

interface DocumentedResponse extends Content {
  readonly description: string
  readonly headers?: Readonly<Record<string, { readonly description?: string; readonly schema: Schema }>>
}

interface DocumentedOperation {
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

export interface ProblemCode {
  readonly status: number
  readonly code: string
  readonly title: string
}

export interface Operation {
  readonly id: string
  readonly group: string
  readonly method: string
  /** With its parameters: `/v1/decisions/{id}`. */
  readonly path: string
  readonly summary: string
  readonly scopes: Scopes
  readonly parameters: readonly Parameter[]
  readonly body: { readonly schema: Schema; readonly isRequired: boolean } | null
  readonly answer: {
    readonly status: number
    readonly description: string
    readonly mediaType: string | null
    readonly schema: Schema | null
    readonly headers: readonly { readonly name: string; readonly description: string }[]
  }
  readonly problems: readonly ProblemCode[]
  /** Whether it writes something. A POST that only asks does not. */
  readonly isChange: boolean
}

/** What a key needs for a call: all of the scopes, or one of them. None: any key will do. */
export interface Scopes {
  readonly names: readonly string[]
  readonly needsAll: boolean
}

/** @throws ApiError */
export async function readDocument(): Promise<OpenApiDocument> {
  return (await readOpenApi()) as unknown as OpenApiDocument
}

/** All operations, in the order of the document. */
export function operationsOf({ paths }: OpenApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => operationOf(path, method.toUpperCase(), operation)),
  )
}

function operationOf(path: string, method: string, documented: DocumentedOperation): Operation {
  const { operationId, summary, description, tags, parameters = [], requestBody, responses } = documented
  const [status = '200', answer = { description: '' }] = Object.entries(responses).find(([code]) => code < '400') ?? []
  const [mediaType, content] = Object.entries(answer.content ?? {})[0] ?? [null, null]
  const body = Object.values(requestBody?.content ?? {})[0]
  return {
    id: operationId,
    group: tags[0] ?? '',
    method,
    path,
    summary,
    scopes: scopesIn(description),
    parameters,
    body: body === undefined ? null : { schema: body.schema, isRequired: requestBody?.required === true },
    answer: {
      status: Number(status),
      description: answer.description,
      mediaType,
      schema: content?.schema ?? null,
      headers: Object.entries(answer.headers ?? {}).map(([name, header]) => ({
        name,
        description: header.description ?? header.schema.description ?? '',
      })),
    },
    problems: Object.entries(responses).flatMap(([code, response]) => problemsIn(Number(code), response)),
    isChange: ['PUT', 'DELETE'].includes(method) || parameters.some(({ name }) => name === 'Idempotency-Key'),
  }
}

/** `Scope: decisions:read and policies:read.` */
function scopesIn(description: string): Scopes {
  return { names: description.match(/[a-z]+:[a-z]+/g) ?? [], needsAll: !description.includes(' or ') }
}

/** `` `not_found`: Nothing was found here. `gone`: … `` */
function problemsIn(status: number, { description }: DocumentedResponse): ProblemCode[] {
  if (status < 400) return []
  return [...description.matchAll(/`(\w+)`: ([^`]*)/g)].map(([, code = '', title = '']) => ({
    status,
    code,
    title: title.trim(),
  }))
}

export function hasScopes({ names, needsAll }: Scopes, held: readonly string[]): boolean {
  if (names.length === 0 || held.includes('*')) return true
  return needsAll ? names.every((name) => held.includes(name)) : names.some((name) => held.includes(name))
}

/** Whether all words of a search are in what an operation is called by. */
export function isFound({ id, method, path, summary, scopes }: Operation, search: string): boolean {
  const text = [id, method, path, summary, ...scopes.names].join(' ').toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
