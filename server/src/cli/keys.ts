import { setTimeout as sleep } from 'node:timers/promises'
import { KeyCreateSchema, validate } from '@countersign/contract'
import { isCarriedOut, type KeyOrder, leaveKeyOrder } from '../adapters/operator-inbox.js'
import { generateKeyText, secretOf } from '../api-key-text.js'
import { readConfig } from '../config.js'
import { Changes } from '../state/changes.js'
import { Keys } from '../state/keys.js'
import { createKey } from '../use-cases/keys/create.js'
import { EXIT, fail } from './exit.js'
import { withStore } from './with-store.js'

export interface KeysCreateOptions {
  readonly name: string
  readonly scope: readonly string[]
  readonly agent?: readonly string[]
  readonly expires?: string
}

const ORDER_DEADLINE_MS = 10_000
const ORDER_POLL_MS = 100

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
  const { dataDir } = readConfig(process.env)
  const text = generateKeyText()
  const order = { key: checked.value, secret: secretOf(text) }
  const isMade = (await makeInStore(dataDir, order)) || (await orderFromServer(dataDir, order))
  if (!isMade)
    return fail(new Error('The running server did not make the key in time. Its log says why.'), EXIT.failure)
  process.stdout.write(`${text}\n`)
  return EXIT.ok
}

function makeInStore(dataDir: string, { key, secret }: KeyOrder): Promise<boolean> {
  return withStore(dataDir, async ({ store, writer, clock, ids }) => {
    const keys = new Keys(await store.loadKeys(), new Map())
    await createKey({ clock, ids, keys, writer, changes: new Changes(async () => {}) }, null, key, secret, null)
  })
}

async function orderFromServer(dataDir: string, order: KeyOrder): Promise<boolean> {
  const path = await leaveKeyOrder(dataDir, order)
  for (let waited = 0; waited < ORDER_DEADLINE_MS; waited += ORDER_POLL_MS) {
    if (await isCarriedOut(path)) return true
    await sleep(ORDER_POLL_MS)
  }
  return false
}
