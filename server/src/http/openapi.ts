import { ERRORS, type ErrorCode, ProblemSchema } from '@countersign/contract'
import { z } from 'zod'
import { createDocument, type ZodOpenApiOperationObject, type ZodOpenApiPathsObject } from 'zod-openapi'
import type { ReferenceDocument } from './reference-page.js'
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
  'X-Request-Id': z.string().meta({ description: 'Quote it to the operator.' }),
}
const ON_REPLAYS = {
  'Idempotent-Replayed': z
    .literal('true')
    .optional()
    .meta({ description: 'Given when an earlier call with the same Idempotency-Key had done this already.' }),
}
const RETRY_AFTER = {
  'Retry-After': z
    .string()
    .regex(/^[1-9][0-9]*$/)
    .meta({ description: 'Whole seconds to wait.' }),
}
const ON_PROBLEMS: { readonly [status: number]: Readonly<Record<string, z.ZodType>> } = {
  401: { 'WWW-Authenticate': z.literal('Bearer') },
  429: RETRY_AFTER,
  503: RETRY_AFTER,
}

/** The OpenAPI 3.1 document of the routes, made from the same schemas that check them. */
export function openApiDocument(routes: readonly Route[]): ReferenceDocument {
  const paths: ZodOpenApiPathsObject = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route) }
  }
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Countersign',
      version: '1',
      description: 'Authorization decisions for AI agents: ask before each action.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    security: [{ api_key: [] }],
    components: { securitySchemes: { api_key: { type: 'http', scheme: 'bearer' } } },
    paths,
  })
}

function operationOf(route: Route): ZodOpenApiOperationObject {
  const { answer, body, query } = route
  const header: Record<string, z.ZodType> = {
    'X-Request-Id': z.string().optional().meta({ description: 'Taken over when it has 8 to 64 of A-Z a-z 0-9 . _ -' }),
  }
  if (route.replay !== undefined)
    header['Idempotency-Key'] = z
      .string()
      .min(1)
      .max(255)
      .optional()
      .meta({ description: 'The same call happens once.' })
  if (route.problems.includes('revision_mismatch'))
    header['If-Match'] = z.string().optional().meta({ description: 'The ETag that the policy has to have.' })
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string)
  return {
    operationId: route.name,
    summary: route.summary,
    tags: [route.name.split('.')[0] as string],
    description: scopesText(route),
    requestParams: {
      header: z.object(header),
      ...(query && { query }),
      ...(names.length > 0 && { path: z.object(Object.fromEntries(names.map((name) => [name, z.string()]))) }),
    },
    ...(body && {
      requestBody: { required: body.mayBeEmpty !== true, content: { 'application/json': { schema: body.schema } } },
    }),
    responses: {
      [String(answer.status)]: {
        description: answer.description,
        headers: z.object({ ...ON_EVERY_ANSWER, ...answer.headers, ...(route.replay && ON_REPLAYS) }),
        ...(answer.schema && { content: { 'application/json': { schema: answer.schema } } }),
      },
      ...problemsOf(route),
    },
  }
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
