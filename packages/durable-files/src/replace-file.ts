import { randomUUID } from 'node:crypto'
import { open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Replaces a file as a whole, mode 0600: a crash leaves the old content or the new one. Durable once the promise
 * resolves. Two must not replace the same file at once: what an earlier attempt left half-written is removed.
 */
export function replaceFile(path: string, content: string | Buffer): Promise<void> {
  return replaceFileWith(path, (temporary) => writeFile(temporary, content))
}

/** As `replaceFile`, with what `fill` makes of an empty file; nothing is replaced when it throws. */
async function replaceFileWith(path: string, fill: (temporary: string) => void | Promise<void>): Promise<void> {
  const folder = dirname(path)
  await removeLeftovers(folder, basename(path))
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    await (await open(temporary, 'wx', 0o600)).close()
    await fill(temporary)
    await syncFile(temporary)
    await rename(temporary, path)
  } catch (error) {
    await removeLeftovers(folder, basename(temporary, '.tmp'))
    throw error
  }
  await syncFolder(folder)
}

/**
 * A crash between writing and renaming leaves a temporary file, perhaps with secrets in it, and what a database keeps
 * beside that. It was never in use.
 */
export async function removeLeftovers(folder: string, name: string): Promise<void> {
  const leftovers = (await readdir(folder)).filter((entry) => isLeftover(entry, name))
  await Promise.all(leftovers.map((entry) => rm(join(folder, entry), { force: true })))
}

/** Whether a crash has left it where a file of that name was being replaced. */
export function isLeftover(entry: string, name: string): boolean {
  return entry.startsWith(`${name}.`) && /\.tmp(-\w+)?$/.test(entry)
}

export async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

export async function syncFolder(folder: string): Promise<void> {
  // Windows has no fsync of folders.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
