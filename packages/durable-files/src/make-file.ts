import { closeSync, openSync } from 'node:fs'

/**
 * Makes an empty file of mode 0600 if it is missing, and then returns true. An existing file is not even opened: closing it
 * would drop SQLite's locks on it.
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
