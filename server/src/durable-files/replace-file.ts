import { randomUUID } from 'node:crypto'
import { open, readdir, readlink, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { statIfThere } from './stat-if-there.js'

/**
 * Replaces a file atomically, mode 0600: a crash leaves the old content or the new one, and so does content that
 * arrives in pieces and fails. Durable once the promise resolves. Two callers must not replace the same file at once,
 * because leftovers of an earlier attempt are removed. Symbolic links stay, and their target is replaced. A pipe or a
 * device stays, too, and gets the content as it arrives.
 */
export async function replaceFile(
  path: string,
  content: string | Buffer | AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const there = statIfThere(path)
  if (there !== undefined && !there.isFile() && !there.isDirectory()) return writeFile(path, content)
  const file = await behindLinks(path)
  const folder = dirname(file)
  await removeLeftovers(folder, basename(file))
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    await writeFile(temporary, content, { flag: 'wx', mode: 0o600 })
    await syncFile(temporary)
    await rename(temporary, file)
  } catch (error) {
    await removeLeftovers(folder, basename(temporary, '.tmp'))
    throw error
  }
  await syncFolder(folder)
}

/** Returns the path that symbolic links lead to, even if nothing exists there. */
async function behindLinks(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const link = await readlink(path).catch(() => null)
  return link === null ? path : behindLinks(resolve(dirname(path), link))
}

/**
 * Removes what a crash between writing and renaming leaves: a temporary file, perhaps with secrets in it, and the files
 * that a database keeps next to it. None of them was ever in use.
 */
export async function removeLeftovers(folder: string, name: string): Promise<void> {
  const leftovers = (await readdir(folder)).filter((entry) => isLeftover(entry, name))
  await Promise.all(leftovers.map((entry) => rm(join(folder, entry), { force: true })))
}

/** Whether a crash left this entry while a file of that name was being replaced. */
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
  // Windows has no fsync for folders.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
