/**
 * How the operator on the server's own machine reaches a running server: a file in the data directory, which only the
 * operator and the server can read. The file holds the hash of a new key, never its text.
 */
import { randomBytes } from 'node:crypto'
import { access, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type KeyCreate, KeyCreateSchema, validate } from '@countersign/contract'
import type { KeySecret } from '../ports/documents.js'

export interface KeyOrder {
  readonly key: KeyCreate
  readonly secret: KeySecret
}

/** Leaves an order for a new key. Resolves with the file that the server removes when the order is carried out. */
export async function leaveKeyOrder(dataDir: string, order: KeyOrder): Promise<string> {
  const directory = inboxOf(dataDir)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const path = join(directory, `${randomBytes(8).toString('hex')}.json`)
  await writeFile(`${path}.part`, JSON.stringify(order), { mode: 0o600 })
  await rename(`${path}.part`, path)
  return path
}

/** Whether an order has been carried out. */
export async function isCarriedOut(path: string): Promise<boolean> {
  return access(path).then(
    () => false,
    () => true,
  )
}

/**
 * Carries out what lies in the inbox, every `intervalMs`. An order that fails is removed too, and told to `onError`.
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
  const look = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    try {
      for (const path of await orders(dataDir)) {
        await carryOut(parse(await readFile(path, 'utf8'))).catch(onError)
        await rm(path, { force: true })
      }
    } catch (error) {
      onError(error)
    } finally {
      isBusy = false
    }
  }
  const timer = setInterval(look, intervalMs)
  timer.unref()
  return () => clearInterval(timer)
}

async function orders(dataDir: string): Promise<string[]> {
  const directory = inboxOf(dataDir)
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names.filter((name) => name.endsWith('.json')).map((name) => join(directory, name))
}

function parse(text: string): KeyOrder {
  const { key, secret } = JSON.parse(text) as KeyOrder
  const checked = validate(KeyCreateSchema, key)
  if (!checked.ok || !/^[A-Za-z0-9_-]{43}$/.test(secret.hash)) throw new Error('The order for a key is not valid.')
  return { key: checked.value, secret: { hash: secret.hash, hint: secret.hint, expires_at: null } }
}

function inboxOf(dataDir: string): string {
  return join(dataDir, 'operator-inbox')
}
