import { closeSync, openSync } from 'node:fs'

/**
 * Creates an empty file of mode 0600 if it is missing, and then returns true. Does not even open an existing file,
 * because closing it would drop SQLite's locks on it.
 */
export function makeFile(path: string): boolean {
  try {
    closeSync(openSync(path, 'wx', 0o600))
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}
