/**
 * Computes which hashes prove that a leaf is in a tree, and that one tree is the beginning of another. A proof is a
 * list of subtrees, each named by its leaves: a program that keeps perfect nodes computes their hashes with
 * `perfectNodesOf` and `rootOf`.
 */
import { isSize, type LeafRange } from './tree.js'

/**
 * Returns the subtrees beside the path from a leaf to the root, from the bottom up.
 *
 * @throws RangeError when the tree has no such leaf
 *
 * Source: RFC 6962 section 2.1.1.
 */
export function inclusionProof(index: number, size: number): LeafRange[] {
  if (!isSize(index) || !isSize(size) || index >= size)
    throw new RangeError(`A tree of ${size} leaves has no leaf ${index}.`)
  const proof: LeafRange[] = []
  for (let { from, to } = { from: 0, to: size }; to - from > 1; ) {
    const middle = from + splitOf(to - from)
    const isLeft = index < middle
    proof.push(isLeft ? { from: middle, to } : { from, to: middle })
    ;[from, to] = isLeft ? [from, middle] : [middle, to]
  }
  return proof.reverse()
}

/**
 * Returns the subtrees that give both roots, from the bottom up. None when the first tree is empty, or both are the
 * same.
 *
 * @throws RangeError when the first tree is larger
 *
 * Source: RFC 6962 section 2.1.2.
 */
export function consistencyProof(first: number, second: number): LeafRange[] {
  if (!isSize(first) || !isSize(second) || first > second)
    throw new RangeError(`A tree of ${first} leaves is not the beginning of one of ${second}.`)
  if (first === 0 || first === second) return []
  const proof: LeafRange[] = []
  let { from, to } = { from: 0, to: second }
  while (first !== to) {
    const middle = from + splitOf(to - from)
    const isLeft = first <= middle
    proof.push(isLeft ? { from: middle, to } : { from, to: middle })
    ;[from, to] = isLeft ? [from, middle] : [middle, to]
  }
  // A verifier with the first root already knows the first tree as a whole.
  if (from > 0) proof.push({ from, to })
  return proof.reverse()
}

/** The largest power of two that is smaller. */
function splitOf(width: number): number {
  let half = 1
  while (half * 2 < width) half *= 2
  return half
}
