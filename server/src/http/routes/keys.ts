import { KeyCreateSchema, KeyRotateSchema, KeySchema, KeyWithSecretSchema, LIMITS, pageOf } from '@countersign/contract'
import { z } from 'zod'
import { generateKeyText, secretOf } from '../../api-key-text.js'
import { assertCreatable, type CreateKeyDeps, createKey } from '../../use-cases/keys/create.js'
import { getKey } from '../../use-cases/keys/get.js'
import { listKeys } from '../../use-cases/keys/list.js'
import { revokeKey } from '../../use-cases/keys/revoke.js'
import { assertRotatable, rotateKey } from '../../use-cases/keys/rotate.js'
import type { Cursors } from '../cursor.js'
import { pageQuery, replyPage } from '../pages.js'
import { type Call, type Route, route } from '../route.js'

export type KeyRouteDeps = CreateKeyDeps & { readonly cursors: Cursors }

const size = { maxBytes: LIMITS.bodyBytes, maxDepth: LIMITS.bodyDepth }

/** The text is in the first answer only: a replay shows the key without it. */
const KeyOnceWithSecretSchema = z.union([KeyWithSecretSchema, KeySchema])

export function keyRoutes(deps: KeyRouteDeps): Route[] {
  const present = async (_call: Call, id: string) => {
    // Another process may have made it a moment ago.
    if (deps.keys.find(id) === undefined) await deps.changes.catchUp()
    return { body: getKey(deps, id) }
  }
  return [
    route({
      method: 'POST',
      path: '/v1/keys',
      name: 'keys.create',
      isChange: true,
      summary: 'Create an API key. Only this response contains its secret.',
      scopes: { all: ['keys:write'] },
      body: { schema: KeyCreateSchema, ...size },
      answer: {
        status: 201,
        description: 'The key with its secret. A replay does not contain the secret.',
        schema: KeyOnceWithSecretSchema,
      },
      problems: ['key_too_wide', 'limit_reached', 'store_unavailable'],
      replay: { present, assertAllowed: ({ caller, body }) => assertCreatable(deps, caller, body) },
      handle: async (call) => {
        const text = generateKeyText()
        const key = await createKey(deps, call, call.body, secretOf(text))
        return { body: { ...key, key: text } }
      },
    }),
    route({
      method: 'GET',
      path: '/v1/keys',
      name: 'keys.list',
      isLong: true,
      summary: 'List API keys, including revoked keys, newest first.',
      scopes: { all: ['keys:read'] },
      query: z.strictObject(pageQuery),
      answer: { status: 200, description: 'A page of keys.', schema: pageOf(KeySchema) },
      problems: ['invalid_cursor'],
      handle: (call) => replyPage(deps.cursors, '/v1/keys', call, (page) => listKeys(deps, page)),
    }),
    route({
      method: 'GET',
      path: '/v1/keys/self',
      name: 'keys.self',
      summary: 'Read the API key of this request.',
      scopes: { all: [] },
      answer: { status: 200, description: 'The key.', schema: KeySchema },
      problems: [],
      handle: async ({ caller }) => ({ body: getKey(deps, caller.key.id) }),
    }),
    route({
      method: 'GET',
      path: '/v1/keys/{id}',
      name: 'keys.get',
      summary: 'Read an API key without its secret.',
      scopes: { all: ['keys:read'] },
      answer: { status: 200, description: 'The key.', schema: KeySchema },
      problems: ['not_found'],
      handle: async ({ params }) => ({ body: getKey(deps, params.id as string) }),
    }),
    route({
      method: 'POST',
      path: '/v1/keys/{id}/rotate',
      name: 'keys.rotate',
      isChange: true,
      summary: 'Give a key a new secret. The old secret stays valid for the grace period.',
      scopes: { all: ['keys:write'] },
      body: { schema: KeyRotateSchema, ...size, mayBeEmpty: true },
      answer: {
        status: 200,
        description: 'The key with its new secret. A replay does not contain the secret.',
        schema: KeyOnceWithSecretSchema,
      },
      problems: ['not_found', 'key_too_wide', 'not_own_key', 'limit_reached', 'store_unavailable'],
      replay: { present, assertAllowed: ({ caller, params }) => assertRotatable(deps, caller, params.id as string) },
      handle: async (call) => {
        const text = generateKeyText()
        const grace = call.body.grace_seconds ?? LIMITS.rotateGraceSecondsDefault
        const key = await rotateKey(deps, call, call.params.id as string, secretOf(text), grace)
        return { body: { ...key, key: text } }
      },
    }),
    route({
      method: 'DELETE',
      path: '/v1/keys/{id}',
      name: 'keys.revoke',
      isChange: true,
      summary: 'Revoke a key permanently.',
      scopes: { all: ['keys:write'] },
      answer: { status: 204, description: 'Revoked.' },
      problems: ['not_found', 'key_too_wide', 'last_admin_key', 'store_unavailable'],
      handle: async ({ caller, params }) => {
        await revokeKey(deps, caller, params.id as string)
        return {}
      },
    }),
  ]
}
