import { BSON, type Document } from 'mongodb'

const MIB = 2 ** 20

/**
 * How large the entries of a directory may become by a change, in bytes of BSON, of the 16 MiB that a document has: by what
 * is new, and by more of what is there. What takes something away, or is as good as no growth, is always possible: the rest
 * of the document is for that, and for the directory's last record. It is not all of what a document could hold, since each
 * change reads it whole.
 */
const ROOM = { new: 4 * MIB, more: 6 * MIB } as const

export function hasRoom(entries: Document, kind: keyof typeof ROOM): boolean {
  return BSON.calculateObjectSize(entries) <= ROOM[kind]
}
