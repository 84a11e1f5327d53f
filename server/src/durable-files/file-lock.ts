/** Locks between processes. The kernel releases them when the holder ends, even by a crash. */
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import Database from 'libsql'
import { assertNoFolder } from './assert-no-folder.js'
import { makeFile } from './make-file.js'

/** Others held the lock for too long. */
export class FileLockError extends Error {
  override readonly name = 'FileLockError'
}

const RETRY_MS = 10
const DEADLINE_MS = 10_000

/**
 * Takes the lock of a file that is used only for this, and creates the file (mode 0600) when it is missing.
 *
 * @returns a function that releases the lock; null when another holder has it, even in this process
 */
export function takeFileLock(path: string): (() => void) | null {
  assertNoFolder(path)
  makeFile(path)
  // Node has no file locks; those of SQLite work on every platform.
  const lock = new Database(path)
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    lock.close()
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')) return null
    throw error
  }
  return () => {
    lock.exec('ROLLBACK')
    lock.close()
  }
}

/** Whether another holder has the lock. Creates no file, and takes no lock away. */
export function isFileLocked(path: string): boolean {
  if (!existsSync(path)) return false
  assertNoFolder(path)
  const lock = new Database(`${pathToFileURL(path).href}?mode=ro`)
  try {
    lock.exec('SELECT 1 FROM sqlite_schema')
    return false
  } catch (error) {
    if (error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_BUSY')) return true
    throw error
  } finally {
    lock.close()
  }
}

/** Waits for the lock of the file and holds it during the work. @throws FileLockError when it waits for too long */
export async function whileLocked<T>(path: string, work: () => Promise<T>, deadlineMs = DEADLINE_MS): Promise<T> {
  const end = performance.now() + deadlineMs
  let release = takeFileLock(path)
  while (release === null) {
    if (performance.now() > end) throw new FileLockError(`Another process has locked ${path} for ${deadlineMs} ms.`)
    await sleep(RETRY_MS)
    release = takeFileLock(path)
  }
  try {
    return await work()
  } finally {
    release()
  }
}
