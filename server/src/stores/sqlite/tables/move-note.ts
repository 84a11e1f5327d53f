/** What the store remembers of its move to another one. */
import { MovedStoreError, type MoveNote } from '../../../ports/store/move.js'
import type { Connection } from '../driver.js'

const NOTE = 'move'

export function findMoveNote(db: Connection): MoveNote | null {
  const value = db.get('SELECT value FROM meta WHERE name = ?', NOTE)?.value
  return value === undefined ? null : JSON.parse(value as string)
}

export function writeMoveNote(db: Connection, note: MoveNote | null): void {
  if (note === null) db.run('DELETE FROM meta WHERE name = ?', NOTE)
  else db.run('INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)', NOTE, JSON.stringify(note))
}

/** @throws MovedStoreError */
export function assertNotMoved(db: Connection, path: string): void {
  const note = findMoveNote(db)
  if (note !== null) throw MovedStoreError.ofSource(path, note)
}
