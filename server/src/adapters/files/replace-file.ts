import { randomUUID } from 'node:crypto'
import { open, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Replaces a file as a whole, mode 0600: a crash leaves the old content or the new one. Durable once the promise
 * resolves. Two must not replace the same file at once: what an earlier attempt left half-written is removed.
 */
export async function replaceFile(path: string, text: string): Promise<void> {
  const folder = dirname(path)
  await removeLeftovers(folder, basename(path))
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
  await syncFolder(folder)
}

/** A crash between writing and renaming leaves a temporary file, perhaps with secrets in it. It was never in use. */
async function removeLeftovers(folder: string, name: string): Promise<void> {
  const leftovers = (await readdir(folder)).filter((entry) => entry.startsWith(`${name}.`) && entry.endsWith('.tmp'))
  await Promise.all(leftovers.map((entry) => rm(join(folder, entry), { force: true })))
}

async function syncFolder(folder: string): Promise<void> {
  // Windows has no fsync of folders.
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
