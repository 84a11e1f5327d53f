import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, open } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { removeLeftovers, syncFile, syncFolder } from './replace-file.js'

/**
 * Creates a file, mode 0600, with the content that `fill` writes, atomically. It never replaces a file, not even one
 * that is created in the meantime, and touches nothing else in the folder. Durable once the promise resolves.
 *
 * @throws an error with the code EEXIST where there is a file
 */
export async function fillNewFile(path: string, fill: (temporary: string) => void | Promise<void>): Promise<void> {
  const folder = dirname(path)
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    await (await open(temporary, 'wx', 0o600)).close()
    await fill(temporary)
    await syncFile(temporary)
    await nameAlso(temporary, path)
  } finally {
    await removeLeftovers(folder, basename(temporary, '.tmp'))
  }
  await syncFolder(folder)
}

/** A file system without hard links gets a copy instead. */
async function nameAlso(file: string, path: string): Promise<void> {
  try {
    await link(file, path)
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code)) throw error
    await copyFile(file, path, constants.COPYFILE_EXCL)
    await syncFile(path)
  }
}

const NO_LINKS = new Set<string | undefined>(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])
