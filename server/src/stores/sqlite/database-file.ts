/**
 * Reads of the database file besides SQLite's. The kernel drops all locks of a process on a file when the process
 * closes any descriptor of it (POSIX), including the lock that tells other programs that SQLite has the database open.
 * Without that lock, another program that opens and closes the database removes the log, and with it committed data. So
 * a descriptor stays open until the store is closed.
 */
import { closeSync, fstatSync, openSync, statSync } from 'node:fs'

const kept = new Map<string, number>()

/** Returns a descriptor for reading, which must not be closed. */
export function databaseDescriptor(path: string): number {
  const known = kept.get(path)
  if (known !== undefined && isOf(known, path)) return known
  closeDatabaseFile(path)
  const descriptor = openSync(path, 'r')
  kept.set(path, descriptor)
  return descriptor
}

/** Call this when no connection of this process has the database open. */
export function closeDatabaseFile(path: string): void {
  const descriptor = kept.get(path)
  if (descriptor === undefined) return
  kept.delete(path)
  closeSync(descriptor)
}

/** Whether the file at the path is still that of the descriptor: a restored one is another. */
function isOf(descriptor: number, path: string): boolean {
  const [own, there] = [fstatSync(descriptor), statSync(path, { throwIfNoEntry: false })]
  return own.ino === there?.ino && own.dev === there.dev
}
