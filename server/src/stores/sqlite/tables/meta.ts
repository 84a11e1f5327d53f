import { randomBytes } from 'node:crypto'
import type { Connection } from '../driver.js'

const LOG = 'log'
const SECRET = 'secret.'

export function findSecret(db: Connection, name: string): string | null {
  return find(db, SECRET + name)
}

export function makeSecret(db: Connection, name: string): string {
  return findOrInsert(db, SECRET + name, () => randomBytes(32).toString('base64url'))
}

export function listSecrets(db: Connection): readonly { readonly name: string; readonly value: string }[] {
  return db
    .all('SELECT name, value FROM meta WHERE substr(name, 1, ?) = ? ORDER BY name', SECRET.length, SECRET)
    .map(({ name, value }) => ({ name: (name as string).slice(SECRET.length), value: value as string }))
}

/** Null before the first start, and for a restored store. */
export function findLog(db: Connection): string | null {
  return find(db, LOG)
}

/** Returns the name of this store's only log. */
export function findOrMakeLog(db: Connection): string {
  return findOrInsert(db, LOG, newLog)
}

/** Begins an empty log of another name. */
export function beginLog(db: Connection): void {
  db.run('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)', LOG, newLog())
}

function newLog(): string {
  return randomBytes(6).toString('base64url')
}

/** For a restored store: the next process that writes begins a new log. */
export function endLog(db: Connection): void {
  db.run('DELETE FROM meta WHERE name = ?', LOG)
}

/** Whether `restoreStore` has ended the log, and none was begun since. */
export function isRestored(db: Connection): boolean {
  return findLog(db) === null && db.get('SELECT 1 FROM audit_entries LIMIT 1') !== undefined
}

/** Proves that a write becomes durable. */
export function touch(db: Connection): void {
  db.run("INSERT INTO meta (name, value) VALUES ('touched', '1') ON CONFLICT (name) DO UPDATE SET value = value + 1")
}

/**
 * Proves that there is room for a group of mutations. A small write would fit into the space that a failed one left in
 * the log, and a single transaction would not write what it removes again.
 */
export function proveRoom(db: Connection): void {
  db.run(
    "INSERT INTO meta (name, value) VALUES ('room', hex(zeroblob(?))) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    ROOM_BYTES / 2,
  )
  db.run("DELETE FROM meta WHERE name = 'room'")
}
const ROOM_BYTES = 1024 * 1024

function find(db: Connection, name: string): string | null {
  return (db.get('SELECT value FROM meta WHERE name = ?', name)?.value ?? null) as string | null
}

function findOrInsert(db: Connection, name: string, make: () => string): string {
  return db.transaction(() => {
    db.run('INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO NOTHING', name, make())
    return find(db, name) as string
  })
}
