import { setTimeout as sleep } from 'node:timers/promises'
import { KeyCreateSchema, validate } from '@countersign/contract'
import { type KeyOrder, leaveKeyOrder, stateOfOrder, withdrawOrder } from '../adapters/operator-inbox.js'
import { systemClock } from '../adapters/system-clock.js'
import { generateKeyText, secretOf } from '../api-key-text.js'
import { Changes } from '../state/changes.js'
import { Keys } from '../state/keys.js'
import { createKey } from '../use-cases/keys/create.js'
import { EXIT, fail } from './exit.js'
import { serverDataDir } from './server-data.js'
import { withStore } from './with-store.js'

export interface KeysCreateOptions {
  readonly name: string
  readonly scope: readonly string[]
  readonly agent?: readonly string[]
  readonly expires?: string
}

const DEADLINE_MS = 15_000
/** A server that runs has taken an order long before. */
const ORDER_MS = 1_000
const POLL_MS = 50

/** Makes an API key on the server's own machine, beside a running server too, and prints its text alone. */
export async function keysCreate(options: KeysCreateOptions): Promise<number> {
  const checked = validate(KeyCreateSchema, {
    name: options.name,
    scopes: options.scope,
    agents: options.agent ?? null,
    expires_at: options.expires ?? null,
  })
  const faults = checked.ok ? [] : checked.errors.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`)
  if (checked.ok && !isAhead(checked.value.expires_at)) faults.push('expires_at has to be ahead')
  if (!checked.ok || faults.length > 0)
    return fail(new Error(`The key is not valid: ${faults.join('; ')}.`), EXIT.usage)
  const dataDir = serverDataDir()
  const text = generateKeyText()
  const order = { key: checked.value, secret: secretOf(text) }
  if (!(await make(dataDir, order)))
    return fail(new Error('The running server did not make the key in time. Its log says why.'), EXIT.failure)
  process.stdout.write(`${text}\n`)
  return EXIT.ok
}

/** Who holds the data directory is a server, which takes orders, or another command, which soon lets go. */
async function make(dataDir: string, order: KeyOrder): Promise<boolean> {
  const end = performance.now() + DEADLINE_MS
  while (performance.now() < end) {
    if (await makeInStore(dataDir, order)) return true
    if (await orderFromServer(dataDir, order, end)) return true
  }
  return false
}

function makeInStore(dataDir: string, { key, secret }: KeyOrder): Promise<boolean> {
  return withStore(dataDir, async ({ store, writer, clock, ids }) => {
    const keys = new Keys(await store.loadKeys(), new Map())
    await createKey({ clock, ids, keys, writer, changes: new Changes(async () => {}) }, null, key, secret, null)
  })
}

/** False when nobody took the order: it is withdrawn. */
async function orderFromServer(dataDir: string, order: KeyOrder, end: number): Promise<boolean> {
  const name = await leaveKeyOrder(dataDir, order)
  const withdrawAt = performance.now() + ORDER_MS
  while (performance.now() < end) {
    const state = await stateOfOrder(name)
    if (state.is === 'carried out') return true
    if (state.is === 'refused') throw new Error(`The running server refused to make the key: ${state.reason}`)
    if (performance.now() > withdrawAt && (await withdrawOrder(name))) return false
    await sleep(POLL_MS)
  }
  return false
}

function isAhead(time: string | null | undefined): boolean {
  return time === null || time === undefined || time > systemClock().now().toISOString()
}
