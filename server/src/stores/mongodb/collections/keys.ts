import type { StoredKey } from '../../../ports/store/documents.js'
import type { OnDamaged } from '../../../ports/store/errors.js'
import { ofSoundRows, rowDocument } from '../../../ports/store/row-document.js'
import type { Change } from '../../../ports/store/store.js'
import type { Database } from '../connection/database.js'
import type { KeyDirectory, KeyEntry, RetiredKey } from '../stored.js'
import { hasRoom } from './directory-room.js'

/** The id of the directory's only document. */
export const KEYS = 'keys'

export async function readKeyDirectory(database: Database): Promise<KeyDirectory> {
  return (await database.call(() => database.keyDirectory.findOne({ _id: KEYS }))) as KeyDirectory
}

export async function loadKeys(database: Database, onDamaged?: OnDamaged): Promise<readonly StoredKey[]> {
  const { keys } = await readKeyDirectory(database)
  // Read after the directory: keys that leave the directory are here by then.
  const retired = await database.call(() => database.retiredKeys.find().toArray())
  const entries = new Map<string, KeyEntry>([
    ...retired.map((entry) => [entry._id, entry] as const),
    ...Object.entries(keys),
  ])
  const sorted = [...entries].sort(([one], [other]) => (one < other ? -1 : 1))
  return ofSoundRows(sorted, ([id, { version, document }]) => rowDocument('key', { id, version }, document), onDamaged)
}

export function keyEntryOf(key: StoredKey): KeyEntry {
  return {
    version: key.version,
    hashes: key.secrets.map(({ hash }) => hash),
    over_at: key.revoked_at ?? key.expires_at,
    document: JSON.stringify(key),
  }
}

/** Whether the key is expired or revoked. */
function isOver({ over_at }: KeyEntry, at: string): boolean {
  return over_at !== null && over_at <= at
}

/** The most keys that leave the directory in one write, which would otherwise become too large. */
const MOST_OVER = 500

/** The expired or revoked keys at a time that leave the directory with the next write of another key. */
export function keysOver(
  { keys }: KeyDirectory,
  writtenId: string,
  at: string,
): readonly (readonly [string, KeyEntry])[] {
  return Object.entries(keys)
    .filter(([id, entry]) => id !== writtenId && isOver(entry, at))
    .slice(0, MOST_OVER)
}

/** A key can always be revoked, or get one text instead of those that it has. */
export function hasRoomForKey(directory: KeyDirectory, key: StoredKey, at: string): boolean {
  const isNew = directory.keys[key.id] === undefined
  const { secrets, sessions = [] } = key
  if (key.revoked_at !== null || (!isNew && secrets.length === 1 && sessions.length === 0)) return true
  const over = new Set(keysOver(directory, key.id, at).map(([id]) => id))
  const kept = Object.entries(directory.keys).filter(([id]) => !over.has(id))
  return hasRoom({ ...Object.fromEntries(kept), [key.id]: keyEntryOf(key) }, isNew ? 'new' : 'more')
}

/** Copies entries to the retired keys before they leave the directory. Repeating it changes nothing. */
export async function retireKeys(database: Database, entries: readonly (readonly [string, KeyEntry])[]): Promise<void> {
  const there = await database.insertNew(
    database.retiredKeys,
    entries.map(([_id, entry]) => ({ _id, ...entry })),
  )
  // An expired key may have been revoked since.
  const updates = entries
    .filter((_, i) => there.has(i))
    .map(([_id, entry]) => ({
      updateOne: { filter: { _id, version: { $lt: entry.version } }, update: { $set: entry } },
    }))
  if (updates.length > 0) await database.call(() => database.retiredKeys.bulkWrite(updates, { ordered: false }))
}

/** Reads the retired keys that changes of keys name, or that already have a secret of these changes. */
export async function readRetiredKeys(
  database: Database,
  changes: readonly Extract<Change, { readonly kind: 'key.write' }>[],
): Promise<readonly RetiredKey[]> {
  if (changes.length === 0) return []
  const ids = changes.flatMap(({ key, beside = [] }) => [key.id, ...beside.map(({ id }) => id)])
  const hashes = changes.flatMap(({ key }) => key.secrets.map(({ hash }) => hash))
  const { retiredKeys } = database
  const [named, alike] = await Promise.all([
    database.call(() => retiredKeys.find({ _id: { $in: ids } }).toArray()),
    database.call(() => retiredKeys.find({ hashes: { $in: hashes } }).toArray()),
  ])
  return [...named, ...alike]
}

/** Writes keys that no process changes. Those that are over by now retire at once: the directory has room for live keys. */
export async function insertKeys(database: Database, keys: readonly StoredKey[]): Promise<void> {
  const now = new Date().toISOString()
  const entries = keys.map((key) => [key.id, keyEntryOf(key)] as const)
  const over = new Set(entries.filter(([, entry]) => isOver(entry, now)))
  await retireKeys(database, [...over])
  const live = entries.filter((entry) => !over.has(entry)).map(([id, entry]) => [`keys.${id}`, entry])
  if (live.length === 0) return
  await database.call(() => database.keyDirectory.updateOne({ _id: KEYS }, { $set: Object.fromEntries(live) }))
}

export async function loadKeyUses(database: Database): Promise<ReadonlyMap<string, string>> {
  const uses = await database.call(() => database.keyUses.find().toArray())
  return new Map(uses.map(({ _id, used_at }) => [_id, used_at]))
}

export async function saveKeyUses(database: Database, uses: ReadonlyMap<string, string>): Promise<void> {
  const updates = [...uses].map(([_id, used_at]) => ({
    updateOne: { filter: { _id }, update: { $max: { used_at } }, upsert: true },
  }))
  await database.call(async () => {
    if (updates.length > 0) await database.keyUses.bulkWrite(updates, { ordered: false })
  })
}
