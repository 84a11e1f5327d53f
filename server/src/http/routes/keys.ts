import { LIMITS } from '@countersign/contract'
import { generateKeyText, secretOf } from '../../api-key-text.js'
import { assertCreatable, type CreateKeyDeps, createKey } from '../../use-cases/keys/create.js'
import { getKey } from '../../use-cases/keys/get.js'
import { listKeys } from '../../use-cases/keys/list.js'
import { revokeKey } from '../../use-cases/keys/revoke.js'
import { assertRotatable, rotateKey } from '../../use-cases/keys/rotate.js'
import type { Cursors } from '../cursor.js'
import { replyPage } from '../pages.js'
import { type Call, routesOf } from '../route.js'

export type KeyRouteDeps = CreateKeyDeps & { readonly cursors: Cursors }

export function keyRoutes(deps: KeyRouteDeps) {
  const present = async (_call: Call, id: string) => {
    // Another process may have created the key a moment ago.
    if (deps.keys.find(id) === undefined) await deps.changes.catchUp()
    return { body: getKey(deps, id) }
  }
  return routesOf({
    'keys.create': {
      isChange: true,
      replay: { present, assertAllowed: ({ caller, body }) => assertCreatable(deps, caller, body) },
      handle: async (call) => {
        const text = generateKeyText()
        const key = await createKey(deps, call, call.body, secretOf(text))
        return { body: { ...key, key: text } }
      },
    },
    'keys.list': { handle: (call) => replyPage(deps.cursors, call, (page) => listKeys(deps, page)) },
    'keys.self': { handle: async ({ caller }) => ({ body: getKey(deps, caller.key.id) }) },
    'keys.get': { handle: async ({ params }) => ({ body: getKey(deps, params.id) }) },
    'keys.rotate': {
      isChange: true,
      replay: { present, assertAllowed: ({ caller, params }) => assertRotatable(deps, caller, params.id) },
      handle: async (call) => {
        const text = generateKeyText()
        const grace = call.body.grace_seconds ?? LIMITS.rotateGraceSecondsDefault
        const key = await rotateKey(deps, call, call.params.id, secretOf(text), grace)
        return { body: { ...key, key: text } }
      },
    },
    'keys.revoke': {
      isChange: true,
      handle: async ({ caller, params }) => {
        await revokeKey(deps, caller, params.id)
        return {}
      },
    },
  })
}
