import { AgentIdSchema, ERRORS, type ErrorCode, IdSchema, ProblemSchema } from '@countersign/contract'
import { z } from 'zod'
import { createDocument, type oas31, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi'
import type { Route } from './route.js'

/** Problems that every endpoint under /v1 can answer. */
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
  .meta({ description: 'The `id` of the last event that you got. It takes precedence over `last_event_id`.' })

const IfMatchSchema = z
  .string()
  .regex(/^\s*\*\s*$|^\s*(W\/)?"[^"]*"(\s*,\s*(W\/)?"[^"]*")*\s*$/)
  .meta({
    description:
      'Makes the change only if the policy has this `ETag`, else answers 412 `revision_mismatch`. Any revision when absent.',
    examples: ['"3"'],
  })
/** Whose id stands in a path. */
const PATH_IDS: readonly [start: string, id: z.ZodType][] = [
  ['/v1/decisions/{id}', IdSchema('dec')],
  ['/v1/policies/{id}', IdSchema('pol')],
  ['/v1/keys/{id}', IdSchema('key')],
  ['/v1/agents/{id}', AgentIdSchema],
  ['/v1/webhooks/{id}', IdSchema('whk')],
]
/** Parameters of a path that are named after what they identify. */
const NAMED_IDS: Readonly<Record<string, z.ZodType>> = { decision_id: IdSchema('dec'), delivery_id: IdSchema('dlv') }

/** The OpenAPI 3.1 document of the routes, made from the same schemas that check them. */
export function openApiDocument(routes: readonly Route[]): oas31.OpenAPIObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return createDocument({
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
        routes.flatMap(({ answer: { events, lines = [] } }) =>
          [...(events ? [events] : []), ...lines].map((schema) => [nameOf(schema), schema]),
        ),
      ),
    },
    paths,
  })
}

function operationOf(route: Route): ZodOpenApiOperationObject {
  const { answer, body, query } = route
  const header: Record<string, z.ZodType> = {
    'X-Request-Id': z
      .string()
      .optional()
      .meta({ description: 'The server uses this id if it has 8 to 64 of the characters A-Z a-z 0-9 . _ -' }),
  }
  if (route.replay !== undefined)
    header['Idempotency-Key'] = z
      .string()
      .min(1)
      .max(255)
      .optional()
      .meta({ description: 'A retry with the same key has no further effect.' })
  if (route.problems.includes('revision_mismatch')) header['If-Match'] = IfMatchSchema.optional()
  if (answer.events !== undefined) header['Last-Event-ID'] = LastEventIdSchema.optional()
  const ids = pathIdsOf(route.path)
  return {
    operationId: route.name,
    summary: route.summary,
    tags: [route.name.split('.')[0] as string],
    description: scopesText(route),
    requestParams: {
      header: z.object(header),
      ...(query && { query }),
      ...(ids && { path: z.object(ids) }),
    },
    ...(body && {
      requestBody: { required: body.mayBeEmpty !== true, content: { 'application/json': { schema: body.schema } } },
    }),
    responses: {
      [String(answer.status)]: {
        description: answer.description,
        headers: z.object({ ...ON_EVERY_ANSWER, ...answer.headers, ...(route.replay && ON_REPLAYS) }),
        ...(answer.schema && { content: { 'application/json': { schema: answer.schema } } }),
        ...(answer.events && { content: { 'text/event-stream': { schema: streamOf(answer.events) } } }),
        ...(answer.lines && { content: { 'application/x-ndjson': { schema: linesOf(answer.lines) } } }),
      },
      ...problemsOf(route),
    },
  }
}

/** OpenAPI 3.1 has no form for streams: each is a text, whose description names the schemas of its parts. */
function streamOf(events: z.ZodType): z.ZodType {
  return z.string().meta({
    description: `Server-sent events. The \`data\` of each is JSON of the schema \`${nameOf(events)}\`.`,
  })
}

function linesOf(lines: readonly z.ZodType[]): z.ZodType {
  const names = lines.map((schema) => `\`${nameOf(schema)}\``).join(' or ')
  return z.string().meta({ description: `Lines that each end with a newline. Each is JSON of the schema ${names}.` })
}

function nameOf(schema: z.ZodType): string {
  return schema.meta()?.id as string
}

function pathIdsOf(path: string): Readonly<Record<string, z.ZodType>> | undefined {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  if (names.length === 0) return undefined
  return Object.fromEntries(
    names.map((name) => {
      const known = name === 'id' ? PATH_IDS.find(([start]) => path.startsWith(start))?.[1] : NAMED_IDS[name]
      if (known === undefined) throw new Error(`${path} has a parameter that the OpenAPI document does not describe.`)
      return [name, known.meta({ description: 'An unknown or malformed id is answered with 404.' })]
    }),
  )
}

function scopesText({ scopes }: Route): string {
  if ('any' in scopes) return `Scope: ${scopes.any.join(' or ')}.`
  return scopes.all.length === 0 ? 'Any key.' : `Scope: ${scopes.all.join(' and ')}.`
}

function problemsOf(route: Route) {
  const codes = new Set<ErrorCode>([...EVERYWHERE, ...route.problems])
  if (!('all' in route.scopes && route.scopes.all.length === 0)) codes.add('insufficient_scope')
  if (route.body !== undefined)
    for (const code of ['malformed_json', 'body_too_large', 'unsupported_media_type'] as const) codes.add(code)
  codes.add('validation_failed')
  if (route.replay !== undefined) codes.add('idempotency_key_reused')
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
