import { z } from 'zod'
import { IdSchema } from '../id.js'
import { KeyCreateSchema, KeyRotateSchema, KeySchema, KeyWithSecretSchema } from '../key.js'
import { bodyOf, operation, page } from './operation.js'

const READ = { all: ['keys:read'] } as const
const WRITE = { all: ['keys:write'] } as const
const params = { id: IdSchema('key') }
const answer = { status: 200, description: 'The key.', schema: KeySchema } as const

/** Only the first answer contains the text: a replay shows the key without it. */
const KeyOnceWithSecretSchema = z.union([KeyWithSecretSchema, KeySchema])

export const KEY_OPERATIONS = {
  'keys.create': operation('POST', '/v1/keys', {
    summary: 'Create an API key. Only this response contains its secret.',
    scopes: WRITE,
    takesKey: true,
    body: bodyOf(KeyCreateSchema),
    answer: {
      status: 201,
      description: 'The key with its secret. A replay does not contain the secret.',
      schema: KeyOnceWithSecretSchema,
    },
    problems: ['key_too_wide', 'limit_reached', 'store_unavailable'],
  }),
  'keys.list': page('/v1/keys', [KeySchema, 'A page of keys.'], {
    summary: 'List API keys, including revoked keys, newest first.',
    scopes: READ,
    problems: [],
  }),
  'keys.self': operation('GET', '/v1/keys/self', {
    summary: 'Read the API key of this request.',
    scopes: { all: [] },
    answer,
    problems: [],
  }),
  'keys.get': operation('GET', '/v1/keys/{id}', {
    summary: 'Read an API key without its secret.',
    scopes: READ,
    params,
    answer,
    problems: ['not_found'],
  }),
  'keys.rotate': operation('POST', '/v1/keys/{id}/rotate', {
    summary: 'Give a key a new secret. The old secret stays valid for the grace period.',
    scopes: WRITE,
    takesKey: true,
    params,
    body: { ...bodyOf(KeyRotateSchema), mayBeEmpty: true },
    answer: {
      status: 200,
      description: 'The key with its new secret. A replay does not contain the secret.',
      schema: KeyOnceWithSecretSchema,
    },
    problems: ['not_found', 'key_too_wide', 'not_own_key', 'limit_reached', 'store_unavailable'],
  }),
  'keys.revoke': operation('DELETE', '/v1/keys/{id}', {
    summary: 'Revoke a key permanently.',
    scopes: WRITE,
    params,
    answer: { status: 204, description: 'Revoked.' },
    problems: ['not_found', 'key_too_wide', 'last_admin_key', 'store_unavailable'],
  }),
}
