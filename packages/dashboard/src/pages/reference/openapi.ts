/** Reads the operations of the OpenAPI document. */
import type { DocumentedOperation, DocumentedResponse, JsonSchema, OpenApiDocument, Parameter } from '../../api/openapi'

export interface ProblemCode {
  readonly status: number
  readonly code: string
  readonly title: string
}

export interface Operation {
  readonly id: string
  readonly group: string
  readonly method: string
  /** The path with its parameters: `/v1/decisions/{id}`. */
  readonly path: string
  readonly summary: string
  readonly scopes: Scopes
  readonly parameters: readonly Parameter[]
  readonly body: { readonly schema: JsonSchema; readonly isRequired: boolean } | null
  readonly answer: {
    readonly status: number
    readonly description: string
    readonly mediaType: string | null
    readonly schema: JsonSchema | null
    readonly headers: readonly { readonly name: string; readonly description: string }[]
  }
  readonly problems: readonly ProblemCode[]
  /** Whether the operation changes data. Some POST operations do not. */
  readonly isChange: boolean
}

/** The scopes that a call needs: all of them, or one of them. Without names, any key may call. */
export interface Scopes {
  readonly names: readonly string[]
  readonly needsAll: boolean
}

/** Returns all operations, in the order of the document. */
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

/** Parses `Scope: decisions:read and policies:read.` */
function scopesIn(description: string): Scopes {
  return { names: description.match(/[a-z]+:[a-z]+/g) ?? [], needsAll: !description.includes(' or ') }
}

/** Parses `` `not_found`: Nothing was found here. `gone`: … ``. */
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

/** Whether an operation contains every word of a search. */
export function isFound({ id, method, path, summary, scopes }: Operation, search: string): boolean {
  const text = [id, method, path, summary, ...scopes.names].join(' ').toLowerCase()
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
