/**
 * How the operator on the server's own machine reaches a running server: files in a folder of the data directory that
 * only the operator and the server can write. An order is `x.json`; one for a key holds the key's hash, never its text. What
 * became of it is `x.json.answer`, written before the order is removed: an order without an answer was not carried out,
 * or not to its end, and is carried out again. What nobody waits for any more is removed.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyCreateSchema } from '@countersign/contract'
import { replaceFile } from '@countersign/durable-files'
import { z } from 'zod'
import type { OperatorOrder, OrderAnswer } from '../../ports/operator-order.js'

/** Other users can write into the inbox, or it is theirs: nothing in it is believed. */
export class UnsafeInboxError extends Error {
  override readonly name = 'UnsafeInboxError'
}

const OrderSchema: z.ZodType<OperatorOrder> = z.union([
  z.strictObject({
    key: KeyCreateSchema,
    secret: z.strictObject({
      hash: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
      hint: z.string().max(32),
      expires_at: z.null(),
    }),
  }),
  z.strictObject({ clock: z.literal('confirm') }),
])
const AnswerSchema: z.ZodType<OrderAnswer> = z.union([
  z.strictObject({ done: z.literal(true) }),
  z.strictObject({ refused: z.string() }),
])
const MAX_ORDER_BYTES = 64 * 1024
/** Longer than any operator waits for an answer. */
const FORGOTTEN_AFTER_MS = 60_000

/** Leaves an order, durably, and resolves with its path. @throws UnsafeInboxError */
export async function leaveOrder(dataDir: string, order: OperatorOrder): Promise<string> {
  const folder = inboxOf(dataDir)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await assertSafe(folder)
  const path = join(folder, `${randomBytes(8).toString('hex')}.json`)
  await replaceFile(path, JSON.stringify(order))
  return path
}

/** What became of an order, null as long as nothing did. */
export async function readAnswer(path: string): Promise<OrderAnswer | null> {
  const text = await readFile(answerTo(path), 'utf8').catch(orNull)
  return text === null ? null : AnswerSchema.parse(JSON.parse(text))
}

/** Takes an order back and leaves nothing of it. Resolves with the answer if there is one by then. */
export async function withdrawOrder(path: string): Promise<OrderAnswer | null> {
  await rm(path, { force: true })
  const answer = await readAnswer(path)
  await rm(answerTo(path), { force: true })
  return answer
}

/** The paths of the orders that wait; what was forgotten is removed. @throws UnsafeInboxError */
export async function waitingOrders(dataDir: string): Promise<string[]> {
  const folder = inboxOf(dataDir)
  const names = await readdir(folder).catch(orNull)
  if (names === null) return []
  await assertSafe(folder)
  const waiting: string[] = []
  for (const path of names.map((name) => join(folder, name))) {
    if (await isForgotten(path)) await removeOrder(path)
    else if (path.endsWith('.json')) waiting.push(path)
  }
  return waiting
}

/**
 * Whatever lies there, reading it neither waits nor follows a link.
 *
 * @returns null when it was taken back
 * @throws when it is no order of the operator
 */
export async function readOrder(path: string): Promise<OperatorOrder | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(orNull)
  if (file === null) return null
  try {
    const state = await file.stat()
    if (!state.isFile() || state.size > MAX_ORDER_BYTES) throw new Error('It is no small file.')
    if (!isOwn(state.uid)) throw new Error(`It belongs to the user with number ${state.uid}.`)
    return OrderSchema.parse(JSON.parse(await file.readFile('utf8')))
  } finally {
    await file.close()
  }
}

/** Tells what became of an order, and ends it. */
export async function answerOrder(path: string, answer: OrderAnswer): Promise<void> {
  await replaceFile(answerTo(path), JSON.stringify(answer))
  await removeOrder(path)
}

/** Throws away what is no order. */
export function removeOrder(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true })
}

function inboxOf(dataDir: string): string {
  return join(dataDir, 'operator-inbox')
}

function answerTo(path: string): string {
  return `${path}.answer`
}

/** Whoever can write into the folder can order a key that may do everything. */
async function assertSafe(folder: string): Promise<void> {
  const state = await lstat(folder)
  if (!state.isDirectory()) throw new UnsafeInboxError(`${folder} is no folder. Remove it.`)
  if (!isOwn(state.uid))
    throw new UnsafeInboxError(`${folder} belongs to the user with number ${state.uid}. Remove it.`)
  if (process.platform !== 'win32' && (state.mode & 0o022) !== 0)
    throw new UnsafeInboxError(
      `Other users of this machine can write into ${folder}. Remove what you did not leave there, then run: chmod 700 ${folder}`,
    )
}

function isOwn(uid: number): boolean {
  return process.getuid === undefined || process.getuid() === uid
}

async function isForgotten(path: string): Promise<boolean> {
  const state = await lstat(path).catch(orNull)
  return state !== null && Date.now() - state.mtimeMs > FORGOTTEN_AFTER_MS
}

function orNull(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}
