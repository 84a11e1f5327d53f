/** Directories of keys and policies that are filled to a size, as many writes would fill them. */

import { BSON, type Document, type MongoClient } from 'mongodb'
import { expect } from 'vitest'
import { keyEntryOf } from '#server/stores/mongodb/collections/keys'
import { idOf, keyOf } from '../../store-suite/index.js'

export { keyEntryOf }

const MIB = 2 ** 20
/** The number of the first entry that a directory is filled with. */
export const FIRST = 10_000
/** New entries are refused beyond the first size, growing ones beyond the second. */
export const [NEW, MORE] = [4 * MIB, 6 * MIB] as const

/** Gives the directory entries that have exactly this size together. */
export async function fillDirectory(
  client: MongoClient,
  database: string,
  directory: 'keys' | 'policies',
  bytes: number,
  make: (number: number, padding: string) => readonly [string, Document],
): Promise<void> {
  const sizeOf = (entries: Document) => BSON.calculateObjectSize(entries)
  const each = sizeOf(Object.fromEntries([make(FIRST + 1, '')])) - sizeOf({})
  const count = Math.floor((bytes - sizeOf({})) / each)
  const numbers = Array.from({ length: count }, (_, i) => FIRST + i)
  const entries = Object.fromEntries(numbers.map((number) => make(number, '')))
  Object.assign(entries, Object.fromEntries([make(FIRST + count - 1, ' '.repeat(bytes - sizeOf(entries)))]))
  expect(sizeOf(entries)).toBe(bytes)
  const [collection, member] = directory === 'keys' ? ['key_directory', 'keys'] : ['policy_directory', 'live']
  await client
    .db(database)
    .collection<{ _id: string }>(collection)
    .updateOne({ _id: directory }, { $set: { [member]: entries } })
}

/** Keys as large as their lists of agents make them. */
const AGENTS = Array.from({ length: 20 }, (_, i) => `agent:${'x'.repeat(240)}-${i}`)
export const wideKey = (number: number) => keyOf(number, { agents: AGENTS })

export function wideEntry(number: number, padding: string) {
  const entry = keyEntryOf(wideKey(number))
  return [idOf('key', number), { ...entry, document: `${entry.document}${padding}` }] as const
}
