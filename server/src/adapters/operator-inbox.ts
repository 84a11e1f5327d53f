/**
 * How the operator on the server's own machine reaches a running server: a file in the data directory, which only the
 * operator and the server can read. The file holds the hash of a new key, never its text.
 *
 * An order `x.json` belongs to who renames or removes it first: the operator, who takes it back, or the server, which
 * calls it `x.taken` and removes it once it is carried out; `x.refused` tells why it was not.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdir, open, readdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type KeyCreate, KeyCreateSchema } from '@countersign/contract'
import { z } from 'zod'
import type { KeySecret } from '../ports/documents.js'
import { StoreUnavailableError } from '../ports/store.js'

const KeyOrderSchema: z.ZodType<KeyOrder> = z.strictObject({
  key: KeyCreateSchema,
  secret: z.strictObject({
    hash: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
    hint: z.string().max(32),
    expires_at: z.null(),
  }),
})

export interface KeyOrder {
  readonly key: KeyCreate
  readonly secret: KeySecret
}

export type OrderState =
  | { readonly is: 'waiting' | 'carried out' }
  | { readonly is: 'refused'; readonly reason: string }

const MAX_ORDER_BYTES = 64 * 1024

/** Leaves an order for a new key. Resolves with its name. */
export async function leaveKeyOrder(dataDir: string, order: KeyOrder): Promise<string> {
  const directory = inboxOf(dataDir)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const name = join(directory, randomBytes(8).toString('hex'))
  await writeFile(`${name}.part`, JSON.stringify(order), { mode: 0o600 })
  await rename(`${name}.part`, `${name}.json`)
  return name
}

/** What became of an order. A refusal is told once. */
export async function stateOfOrder(name: string): Promise<OrderState> {
  // An order that waits for the store goes from one to the other and back.
  for (const ending of ['json', 'taken', 'json']) if (await exists(`${name}.${ending}`)) return { is: 'waiting' }
  const reason = await readFile(`${name}.refused`, 'utf8').catch(() => null)
  if (reason === null) return { is: 'carried out' }
  await rm(`${name}.refused`, { force: true })
  return { is: 'refused', reason }
}

/** Takes an order back. False when the server has it already. */
export async function withdrawOrder(name: string): Promise<boolean> {
  return unlink(`${name}.json`).then(
    () => true,
    () => false,
  )
}

/**
 * Carries out what lies in the inbox, every `intervalMs`. An order that cannot be carried out is told to `onError` and
 * thrown away; while the store is not available it stays.
 *
 * @returns stops watching
 */
export function watchInbox(
  dataDir: string,
  carryOut: (order: KeyOrder) => Promise<void>,
  onError: (error: unknown) => void,
  intervalMs = 500,
): () => void {
  let isBusy = false
  let isFailing = false
  let isClean = false
  const look = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      if (!isClean) await removeLeftBehind(dataDir)
      isClean = true
      for (const name of await orders(dataDir)) await take(name, carryOut, onError)
      isFailing = false
    } catch (error) {
      if (!isFailing) onError(error)
      isFailing = true
    } finally {
      isBusy = false
    }
  }
  const timer = setInterval(look, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** @throws StoreUnavailableError when the order has to wait */
async function take(
  name: string,
  carryOut: (order: KeyOrder) => Promise<void>,
  onError: (error: unknown) => void,
): Promise<void> {
  const taken = `${name}.taken`
  await rename(`${name}.json`, taken)
  const order = await readOrder(taken).catch((cause: unknown) => {
    onError(new Error('It is no order for a key.', { cause }))
    return null
  })
  try {
    if (order !== null) await carryOut(order)
  } catch (error) {
    if (error instanceof StoreUnavailableError) {
      await rename(taken, `${name}.json`)
      throw error
    }
    onError(error)
    await writeFile(`${name}.refused`, error instanceof Error ? error.message : String(error), { mode: 0o600 })
  }
  await rm(taken, { recursive: true, force: true })
}

async function orders(dataDir: string): Promise<string[]> {
  const paths = await filesIn(inboxOf(dataDir))
  return paths.filter((path) => path.endsWith('.json')).map((path) => path.slice(0, -'.json'.length))
}

/** What a server left that ended in the middle of an order: nobody waits for it any more. */
async function removeLeftBehind(dataDir: string): Promise<void> {
  const paths = await filesIn(inboxOf(dataDir))
  for (const path of paths.filter((name) => /\.(taken|refused)$/.test(name)))
    await rm(path, { recursive: true, force: true })
}

async function filesIn(directory: string): Promise<string[]> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.map((name) => join(directory, name))
}

/** Whatever lies there, reading it neither waits nor follows a link. @throws when it is no order */
async function readOrder(path: string): Promise<KeyOrder> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const state = await file.stat()
    if (!state.isFile() || state.size > MAX_ORDER_BYTES) throw new Error('It is no small file.')
    return KeyOrderSchema.parse(JSON.parse(await file.readFile('utf8')))
  } finally {
    await file.close()
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

function inboxOf(dataDir: string): string {
  return join(dataDir, 'operator-inbox')
}
