import { randomInt } from 'node:crypto'
import type { FeedBatch, HeldReader } from '../../../ports/store/feed.js'
import type { MovedReader } from '../../../ports/store/move.js'
import type { Connection, Row } from '../driver.js'

/** Leaves room for all later fences. */
const FIRST_FENCES = 2 ** 47

type SavedReader = Pick<FeedBatch, 'positions' | 'state'>

/**
 * Increments the fence. A new reader begins at a random one, so that no holder of a removed reader of that name has it.
 */
export function takeReader(db: Connection, name: string): HeldReader {
  const row = db.get(
    `INSERT INTO readers (name, fence) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET fence = fence + 1
     RETURNING fence, document`,
    name,
    randomInt(1, FIRST_FENCES),
  ) as Row
  return heldReaderOf(name, row)
}

/** Returns null when the reader was never taken. */
export function findHeldReader(db: Connection, name: string): HeldReader | null {
  const row = db.get('SELECT fence, document FROM readers WHERE name = ?', name)
  return row === undefined ? null : heldReaderOf(name, row)
}

export function findReader(db: Connection, name: string): Pick<HeldReader, 'positions' | 'state'> | null {
  const document = db.get('SELECT document FROM readers WHERE name = ?', name)?.document ?? null
  return document === null ? null : JSON.parse(document as string)
}

export function listReaders(db: Connection, prefix: string): readonly string[] {
  const names: string[] = []
  // Names are compared as bytes, so names with the same prefix are adjacent.
  for (let last: string | null = null; ; last = names.at(-1) as string) {
    const rows: readonly Row[] =
      last === null
        ? db.all(`${SELECT_SAVED} AND name >= ? ORDER BY name LIMIT ?`, prefix, CHUNK)
        : db.all(`${SELECT_SAVED} AND name > ? ORDER BY name LIMIT ?`, last, CHUNK)
    const found = rows.map(({ name }) => name as string).filter((name) => name.startsWith(prefix))
    names.push(...found)
    if (found.length < CHUNK) return names
  }
}
/** Those that were saved. */
export function readAllReaders(db: Connection): readonly MovedReader[] {
  return db
    .all('SELECT name, document FROM readers WHERE document IS NOT NULL ORDER BY name')
    .map(({ name, document }) => ({ name: name as string, ...(JSON.parse(document as string) as SavedReader) }))
}

const CHUNK = 100
const SELECT_SAVED = 'SELECT name FROM readers WHERE document IS NOT NULL'

/** Returns false when another holder has taken it since. */
export function saveReader(
  db: Connection,
  { reader: { name, fence }, positions, state }: Pick<FeedBatch, 'reader' | 'positions' | 'state'>,
): boolean {
  const document = JSON.stringify({ positions, state } satisfies SavedReader)
  return db.run('UPDATE readers SET document = ? WHERE name = ? AND fence = ?', document, name, fence) === 1
}

export function removeReader(db: Connection, name: string): void {
  db.run('DELETE FROM readers WHERE name = ?', name)
}

function heldReaderOf(name: string, { fence, document }: Row): HeldReader {
  const saved: SavedReader | null = document === null ? null : JSON.parse(document as string)
  return { name, fence: fence as number, positions: saved?.positions ?? null, state: saved?.state ?? {} }
}
