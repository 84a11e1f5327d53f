import { ERRORS, type ErrorCode, ProblemSchema } from '@countersign/contract'
import type { Operation } from '@countersign/contract/operations'
import { z } from 'zod'
import {
  createDocument,
  type oas31,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi'

type Schema = z.core.JSONSchema.BaseSchema

/** Problems that every endpoint under /v1 can return. */
const EVERYWHERE: readonly ErrorCode[] = [
  'unauthorized',
  'not_found',
  'rate_limited',
  'internal_error',
  'replica_stale',
]

const ON_EVERY_ANSWER = {
  'X-Request-Id': z
    .string()
    .meta({ description: 'Identifies the request. Give it to the operator when you report a problem.' }),
}
const ON_REPLAYS = {
  'Idempotent-Replayed': z
    .literal('true')
    .optional()
    .meta({ description: 'Present if an earlier call with the same Idempotency-Key already did this.' }),
}
const RETRY_AFTER = {
  'Retry-After': z
    .string()
    .regex(/^[1-9][0-9]*$/)
    .meta({ description: 'Seconds to wait before a retry.' }),
}
const ON_PROBLEMS: { readonly [status: number]: Readonly<Record<string, z.ZodType>> } = {
  401: { 'WWW-Authenticate': z.literal('Bearer') },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
}

const LastEventIdSchema = z
  .string()
  .meta({ description: 'The `id` of the last event that you received. It takes precedence over `last_event_id`.' })

const IfMatchSchema = z
  .string()
  .regex(/^\s*\*\s*$|^\s*(W\/)?"[^"]*"(\s*,\s*(W\/)?"[^"]*")*\s*$/)
  .meta({
    description:
      'Makes the change only if the policy has this `ETag`; otherwise the response is 412 `revision_mismatch`. Default: any revision.',
    examples: ['"3"'],
  })
/** Written as a pattern, because client generators cannot read a constant in a header. */
const IfNoneMatchSchema = z.string().regex(/^\*$/).meta({
  description: 'Only creates: if a policy with this name exists, the response is 412 `revision_mismatch`.',
})

/** The OpenAPI 3.1 document of the operations, generated from the schemas that validate the calls. */
export function openApiDocument(operations: Readonly<Record<string, Operation>>): oas31.OpenAPIObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const [name, operation] of Object.entries(operations)) {
    const { path, method } = operation
    paths[path] = { ...paths[path], [method.toLowerCase()]: documented(name, operation) }
  }
  const document: ZodOpenApiObject = {
    openapi: '3.1.0',
    info: {
      title: 'Countersign',
      version: '1',
      description: 'Authorization decisions for AI agents. Request a decision before each action.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'The server that serves this document.' }],
    security: [{ api_key: [] }],
    components: {
      securitySchemes: { api_key: { type: 'http', scheme: 'bearer' } },
      schemas: Object.fromEntries(
        Object.values(operations).flatMap(({ answer: { events, lines = [] } }) =>
          [...(events ? [events] : []), ...lines].map((schema) => [nameOf(schema), schema]),
        ),
      ),
    },
    paths,
  }
  return createDocument(document, { override: forGenerators })
}

/**
 * Rewrites a schema for client generators without changing its meaning. Generators prefer titles to component names
 * when they name types, and our titles are words for messages that several schemas share. They read a nullable value as
 * one type if `type` lists null, but as a separate type without a name if `anyOf` does.
 */
function forGenerators({ jsonSchema }: { readonly jsonSchema: Schema }): void {
  delete jsonSchema.title
  const { anyOf = [], ...annotations } = jsonSchema
  const [value, nothing] = anyOf
  if (anyOf.length !== 2 || nothing?.type !== 'null' || !isOfOneType(value)) return
  delete jsonSchema.anyOf
  Object.assign(jsonSchema, value, annotations, { type: [value.type, 'null'] })
}

/**
 * Whether null can simply be added to `type`. An enum would also have to list null, and an object with members remains
 * a separate type.
 */
function isOfOneType(schema: Schema | undefined): schema is Schema & { readonly type: string } {
  const { type, enum: values, const: value, properties } = schema ?? {}
  return typeof type === 'string' && [values, value, properties].every((part) => part === undefined)
}

function documented(name: string, operation: Operation): ZodOpenApiOperationObject {
  const { answer, body, params, query } = operation
  const header: Record<string, z.ZodType> = {
    'X-Request-Id': z.string().optional().meta({
      description:
        'The server uses this id if it has 1 to 128 visible ASCII characters and no comma. Otherwise it generates one.',
    }),
  }
  if (operation.method !== 'GET')
    header.traceparent = z
      .string()
      .optional()
      .meta({
        description: 'W3C Trace Context. Its trace id is kept as `trace_id`. An invalid header is ignored.',
        examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'],
      })
  if (operation.takesKey === true)
    header['Idempotency-Key'] = z
      .string()
      .min(1)
      .max(255)
      .optional()
      .meta({ description: 'A retry with the same key has no further effect.' })
  if (operation.problems.includes('revision_mismatch')) header['If-Match'] = IfMatchSchema.optional()
  if (answer.mayCreate === true) header['If-None-Match'] = IfNoneMatchSchema.optional()
  if (answer.events !== undefined) header['Last-Event-ID'] = LastEventIdSchema.optional()
  const success = {
    description: answer.description,
    headers: z.object({ ...ON_EVERY_ANSWER, ...answer.headers, ...(operation.takesKey && ON_REPLAYS) }),
    ...(answer.schema && { content: { 'application/json': { schema: answer.schema } } }),
    ...(answer.events && { content: { 'text/event-stream': { schema: streamOf(answer.events) } } }),
    ...(answer.lines && { content: linesContentOf(answer.lines) }),
  }
  return {
    // An identifier in the languages of generated clients.
    operationId: name.replaceAll('.', '_'),
    summary: operation.summary,
    tags: [name.split('.')[0] as string],
    description: scopesText(operation),
    requestParams: {
      header: z.object(header),
      ...(query && { query }),
      ...(params && { path: paramsOf(params) }),
    },
    ...(body && {
      requestBody: { required: body.mayBeEmpty !== true, content: { 'application/json': { schema: body.schema } } },
    }),
    responses: {
      [String(answer.status)]: success,
      ...(answer.mayCreate === true && { '201': { ...success, description: 'Created.' } }),
      ...problemsOf(operation),
    },
  }
}

/** OpenAPI 3.1 cannot describe streams, so each is a text whose description names the schemas of its parts. */
function streamOf(events: z.ZodType): z.ZodType {
  return z.string().meta({
    description: `Server-sent events. The \`data\` of each is JSON of the schema \`${nameOf(events)}\`.`,
  })
}

/**
 * The server answers with the first type. Generators that do not know it need the second one, or they drop the answer.
 */
function linesContentOf(lines: readonly z.ZodType[]) {
  const schema = linesOf(lines)
  return { 'application/x-ndjson': { schema }, 'text/plain': { schema } }
}

function linesOf(lines: readonly z.ZodType[]): z.ZodType {
  const names = lines.map((schema) => `\`${nameOf(schema)}\``).join(' or ')
  return z.string().meta({ description: `Lines that each end with a newline. Each is JSON of the schema ${names}.` })
}

function nameOf(schema: z.ZodType): string {
  return schema.meta()?.id as string
}

function paramsOf(params: NonNullable<Operation['params']>) {
  const described = Object.entries(params).map(([name, id]) => [
    name,
    id.meta({ description: 'An unknown or malformed id gets 404.' }),
  ])
  return z.object(Object.fromEntries(described))
}

function scopesText({ scopes }: Operation): string {
  if ('any' in scopes) return `Scope: ${scopes.any.join(' or ')}.`
  return scopes.all.length === 0 ? 'Any key.' : `Scope: ${scopes.all.join(' and ')}.`
}

function problemsOf(operation: Operation) {
  const codes = new Set<ErrorCode>([...EVERYWHERE, ...operation.problems])
  if (!('all' in operation.scopes && operation.scopes.all.length === 0)) codes.add('insufficient_scope')
  if (operation.body !== undefined)
    for (const code of ['malformed_json', 'body_too_large', 'unsupported_media_type'] as const) codes.add(code)
  codes.add('validation_failed')
  if (operation.takesKey === true) codes.add('idempotency_key_reused')
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of codes) byStatus.set(ERRORS[code].status, [...(byStatus.get(ERRORS[code].status) ?? []), code])
  return Object.fromEntries(
    [...byStatus].map(([status, group]) => [
      String(status),
      {
        description: group.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join(' '),
        headers: z.object({ ...ON_EVERY_ANSWER, ...ON_PROBLEMS[status] }),
        content: { 'application/problem+json': { schema: ProblemSchema } },
      },
    ]),
  )
}
