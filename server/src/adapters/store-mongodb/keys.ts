import type { StoredKey } from '../../ports/documents.js'
import type { Database } from './database.js'
import type { KeyDirectory } from './stored.js'

/** The one document of the directory. */
export const KEYS = 'keys'

export async function readKeyDirectory(database: Database): Promise<KeyDirectory> {
  return (await database.call(() => database.keyDirectory.findOne({ _id: KEYS }))) as KeyDirectory
}

export async function loadKeys(database: Database): Promise<readonly StoredKey[]> {
  const { keys } = await readKeyDirectory(database)
  return Object.keys(keys)
    .sort()
    .map((id) => JSON.parse(keys[id]?.document as string) as StoredKey)
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
