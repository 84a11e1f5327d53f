/** RFC 6962 as it is written, one recursion after another: what the tree and its proofs are compared with. */
import { createHash } from 'node:crypto'

const digest = (...parts: readonly Uint8Array[]): Uint8Array =>
  new Uint8Array(createHash('sha256').update(Buffer.concat(parts)).digest())

/** The hash of a leaf's bytes. */
export const leafOf = (bytes: Uint8Array): Uint8Array => digest(Uint8Array.of(0), bytes)

/** MTH of section 2.1, of leaves that are hashed already. */
export function rootOfLeaves(leaves: readonly Uint8Array[]): Uint8Array {
  if (leaves.length === 0) return digest()
  if (leaves.length === 1) return leaves[0] as Uint8Array
  const middle = splitOf(leaves.length)
  return digest(Uint8Array.of(1), rootOfLeaves(leaves.slice(0, middle)), rootOfLeaves(leaves.slice(middle)))
}

/** PATH of section 2.1.1. */
export function pathOf(index: number, leaves: readonly Uint8Array[]): Uint8Array[] {
  if (leaves.length <= 1) return []
  const middle = splitOf(leaves.length)
  const [left, right] = [leaves.slice(0, middle), leaves.slice(middle)]
  return index < middle
    ? [...pathOf(index, left), rootOfLeaves(right)]
    : [...pathOf(index - middle, right), rootOfLeaves(left)]
}

/** PROOF of section 2.1.2. */
export function proofOf(first: number, leaves: readonly Uint8Array[], isWhole = true): Uint8Array[] {
  if (first === leaves.length) return isWhole ? [] : [rootOfLeaves(leaves)]
  const middle = splitOf(leaves.length)
  const [left, right] = [leaves.slice(0, middle), leaves.slice(middle)]
  return first <= middle
    ? [...proofOf(first, left, isWhole), rootOfLeaves(right)]
    : [...proofOf(first - middle, right, false), rootOfLeaves(left)]
}

function splitOf(width: number): number {
  return 2 ** Math.floor(Math.log2(width - 1))
}
