import { BSON, type Document } from 'mongodb'

const MIB = 2 ** 20

/**
 * How large a change may make the entries of a directory, in bytes of BSON, out of the 16 MiB of a document: for new
 * entries, and for growth of existing ones. Changes that remove something, or hardly grow anything, are always
 * possible: the rest of the document is reserved for them and for the directory's last record. The limit is below the
 * size of a document because each change reads all of it.
 */
const ROOM = { new: 4 * MIB, more: 6 * MIB } as const

export function hasRoom(entries: Document, kind: keyof typeof ROOM): boolean {
  return BSON.calculateObjectSize(entries) <= ROOM[kind]
}
