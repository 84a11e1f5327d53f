import { KeyCreateSchema, validate } from '@countersign/contract'
import { generateKeyText, secretOf } from '../api-key-text.js'
import type { Config } from '../config.js'
import type { KeyOrder, OrderAnswer } from '../ports/operator-order.js'
import { Changes } from '../state/changes.js'
import { Keys } from '../state/keys.js'
import { makeOrderedKey } from '../use-cases/keys/order.js'
import { EXIT, fail } from './exit.js'
import { orderFromServer } from './operator-order.js'
import { serverData } from './server-data.js'
import { withStore } from './with-store.js'

export interface KeysCreateOptions {
  readonly name: string
  readonly scope: readonly string[]
  readonly agent?: readonly string[]
  readonly expires?: string
}

const DEADLINE_MS = 10_000
/** A server that runs looks for orders twice a second. */
const ORDER_MS = 1_500

/** Makes an API key on the server's own machine, beside a running server too, and prints its text alone. */
export async function keysCreate(options: KeysCreateOptions): Promise<number> {
  const checked = validate(KeyCreateSchema, {
    name: options.name,
    scopes: options.scope,
    agents: options.agent ?? null,
    expires_at: options.expires ?? null,
  })
  if (!checked.ok) {
    const faults = checked.errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`)
    return fail(new Error(`The key is not valid: ${faults.join('; ')}.`), EXIT.usage)
  }
  const text = generateKeyText()
  const answer = await make(serverData(), { key: checked.value, secret: secretOf(text) })
  if (answer === null)
    return fail(new Error('The running server did not make the key in time. Its log says why.'), EXIT.failure)
  if ('refused' in answer) return fail(new Error(`The key was not made: ${answer.refused}`), EXIT.failure)
  process.stdout.write(`${text}\n`)
  return EXIT.ok
}

/**
 * Who holds the data directory is a server, which takes orders, or another command, which soon lets go. Whatever is tried
 * more than once makes one key.
 */
async function make(config: Config, order: KeyOrder): Promise<OrderAnswer | null> {
  const end = performance.now() + DEADLINE_MS
  for (;;) {
    const answer = (await makeInStore(config, order)) ?? (await orderFromServer(config.dataDir, order, ORDER_MS))
    if (answer !== null || performance.now() > end) return answer
  }
}

function makeInStore(config: Config, order: KeyOrder): Promise<OrderAnswer | null> {
  return withStore(config, async ({ store, writer, clock, ids }) => {
    const keys = new Keys(await store.loadKeys(), new Map())
    const changes = new Changes({ reload: async () => keys.load(await store.loadKeys()) })
    return makeOrderedKey({ clock, ids, keys, writer, changes }, order)
  })
}
