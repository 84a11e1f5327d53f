/**
 * Lets the operator on the server's machine reach a running server: command files in a folder of the data directory
 * that only the operator and the server can write. A command is `x.json`. A command for a key contains the key's hash,
 * never its text. Its result is `x.json.answer`, which is written before the command is removed: a command without a
 * result was not executed completely, and is executed again. Abandoned files are removed.
 */
import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { KeyCreateSchema } from '@countersign/contract'
import { z } from 'zod'
import { replaceFile } from '../../durable-files/replace-file.js'
import { orNull } from '../../durable-files/stat-if-there.js'
import type { AdminCommand, CommandResult } from '../../ports/admin-command.js'

/** Other users own the spool or can write to it. Nothing in it is trusted. */
export class UnsafeSpoolError extends Error {
  override readonly name = 'UnsafeSpoolError'
}

const CommandSchema: z.ZodType<AdminCommand> = z.union([
  z.strictObject({
    key: KeyCreateSchema,
    secret: z.strictObject({
      hash: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
      hint: z.string().max(32),
      expires_at: z.null(),
    }),
  }),
  z.strictObject({ clock: z.literal('confirm') }),
  z.strictObject({ audit: z.literal('accept-rewrite') }),
])
const ResultSchema: z.ZodType<CommandResult> = z.union([
  z.strictObject({ done: z.literal(true) }),
  z.strictObject({ refused: z.string() }),
])
const MAX_COMMAND_BYTES = 64 * 1024
/** Longer than an operator waits for a result. */
const ABANDONED_AFTER_MS = 60_000

/** Writes a command durably. Resolves with its path. @throws UnsafeSpoolError */
export async function submitCommand(dataDir: string, command: AdminCommand): Promise<string> {
  const folder = folderIn(dataDir)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await assertSafe(folder)
  const path = join(folder, `${randomBytes(8).toString('hex')}.json`)
  await replaceFile(path, JSON.stringify(command))
  return path
}

/** Returns the result of a command; null while there is none. */
export async function readResult(path: string): Promise<CommandResult | null> {
  const text = await readFile(resultOf(path), 'utf8').catch(orNull)
  return text === null ? null : ResultSchema.parse(JSON.parse(text))
}

/** Removes a command and its result. Resolves with the result if there was one. */
export async function withdrawCommand(path: string): Promise<CommandResult | null> {
  await rm(path, { force: true })
  const result = await readResult(path)
  await rm(resultOf(path), { force: true })
  return result
}

/** Returns the paths of the waiting commands. Removes abandoned files. @throws UnsafeSpoolError */
export async function pendingCommands(dataDir: string): Promise<string[]> {
  const folder = folderIn(dataDir)
  const names = await readdir(folder).catch(orNull)
  if (names === null) return []
  await assertSafe(folder)
  const pending: string[] = []
  for (const path of names.map((name) => join(folder, name))) {
    if (await isAbandoned(path)) await removeCommand(path)
    else if (path.endsWith('.json')) pending.push(path)
  }
  return pending
}

/**
 * Reads a command. Does not block on a pipe or a device, and does not follow a link.
 *
 * @returns null when the command was withdrawn
 * @throws Error when the file is not a command of the operator
 */
export async function readCommand(path: string): Promise<AdminCommand | null> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(orNull)
  if (file === null) return null
  try {
    const state = await file.stat()
    if (!state.isFile() || state.size > MAX_COMMAND_BYTES) throw new Error('It is not a small file.')
    if (!isOwn(state.uid)) throw new Error(`It belongs to the user with the uid ${state.uid}.`)
    return CommandSchema.parse(JSON.parse(await file.readFile('utf8')))
  } finally {
    await file.close()
  }
}

/** Writes the result of a command, then removes the command. */
export async function completeCommand(path: string, result: CommandResult): Promise<void> {
  await replaceFile(resultOf(path), JSON.stringify(result))
  await removeCommand(path)
}

/** Removes a file of the spool, or a folder in its place. */
export function removeCommand(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true })
}

/**
 * The names on the disk (this folder, `.answer`, `refused`) must not change: server and command line may be of
 * different releases.
 */
function folderIn(dataDir: string): string {
  return join(dataDir, 'operator-inbox')
}

function resultOf(path: string): string {
  return `${path}.answer`
}

/** Any user who can write to the folder could have a key with every right created. */
async function assertSafe(folder: string): Promise<void> {
  const state = await lstat(folder)
  if (!state.isDirectory()) throw new UnsafeSpoolError(`${folder} is not a folder. Remove it.`)
  if (!isOwn(state.uid))
    throw new UnsafeSpoolError(`${folder} belongs to the user with the uid ${state.uid}. Remove it.`)
  if (process.platform !== 'win32' && (state.mode & 0o022) !== 0)
    throw new UnsafeSpoolError(
      `Other users of this machine can write into ${folder}. Remove the files that you did not put there, then run: chmod 700 ${folder}`,
    )
}

function isOwn(uid: number): boolean {
  return process.getuid === undefined || process.getuid() === uid
}

async function isAbandoned(path: string): Promise<boolean> {
  const state = await lstat(path).catch(orNull)
  return state !== null && Date.now() - state.mtimeMs > ABANDONED_AFTER_MS
}
