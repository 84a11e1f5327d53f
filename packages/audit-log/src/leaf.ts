import type { AuditEntry } from '@countersign/contract'
import { canonicalJson } from '@countersign/contract/canonical-json'
import { sha256, sha256Text } from '#sha256'
import { fromBase64Url } from './base64.js'
import type { Hash } from './tree.js'

/** An entry of the audit log, before or after its leaf hash was computed. */
export type HashableEntry = Omit<AuditEntry, 'leaf'> & Partial<Pick<AuditEntry, 'leaf'>>

/**
 * The hash input of a leaf begins with 0x00, that of a node with 0x01, so that neither can be mistaken for the other.
 */
const LEAF_PREFIX = '\0'

/**
 * Returns the exact bytes of an entry, form v1: its canonical JSON (RFC 8785) in UTF-8, with all its members.
 *
 * @throws Error when the entry contains what JSON cannot: a number that is not finite, a lone surrogate, a cycle
 *
 * Source: RFC 8785.
 */
export function canonicalEntry(entry: HashableEntry): Uint8Array {
  return new TextEncoder().encode(canonicalJson(entry))
}

/**
 * Returns the leaf hash of an entry: base64url SHA-256 of 0x00 and the canonical bytes of the entry without its `leaf`.
 * So it is the same before and after the hash is written into the entry.
 *
 * @throws Error as `canonicalEntry` does
 *
 * Source: RFC 6962 section 2.1.
 */
export function leafHash(entry: HashableEntry): string {
  const { leaf: _, ...hashed } = entry
  return sha256Text(LEAF_PREFIX + canonicalJson(hashed))
}

/**
 * Returns the leaf hash of a text. The leaves of the root log are the checkpoints of the other logs, each the whole
 * signed note.
 *
 * Source: RFC 6962 section 2.1.
 */
export function leafHashOfText(text: string): Hash {
  return sha256(LEAF_PREFIX + text)
}

/** Decodes the `leaf` of an entry. */
export function bytesOfLeaf(leaf: string): Hash {
  return fromBase64Url(leaf)
}
