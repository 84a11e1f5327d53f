/** Verifies proofs for a reader that has only roots. */
import { EMPTY_ROOT, HASH_BYTES, type Hash, isSize, nodeHash } from './tree.js'

/** The proof does not show what it claims. */
export class ProofError extends Error {
  override readonly name = 'ProofError'
}

export interface Inclusion {
  /** The hash of the leaf. */
  readonly leaf: Hash
  readonly index: number
  readonly size: number
  /** As `inclusionProof` lists them. */
  readonly proof: readonly Hash[]
}

/**
 * Returns the root of the tree with this leaf in this place. If it is the root of a tree, the leaf is in that tree.
 *
 * @throws ProofError when no tree of this size has a proof of this form
 *
 * Source: RFC 9162 section 2.1.3.2.
 */
export function rootOfInclusion({ leaf, index, size, proof }: Inclusion): Hash {
  if (!isSize(index) || !isSize(size) || index >= size)
    throw new ProofError(`A tree of ${size} leaves has no leaf ${index}.`)
  assertHashes([leaf, ...proof])
  let [node, last, hash] = [index, size - 1, leaf]
  for (const beside of proof) {
    if (last === 0) throw new ProofError('The proof is too long.')
    if (node % 2 === 1 || node === last) {
      hash = nodeHash(beside, hash)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else hash = nodeHash(hash, beside)
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  if (last !== 0) throw new ProofError('The proof is too short.')
  return hash
}

/** @throws ProofError when the proof does not show the leaf in the tree of this root */
export function verifyInclusion(inclusion: Inclusion, root: Hash): void {
  assertHashes([root])
  if (!isSameHash(rootOfInclusion(inclusion), root)) throw new ProofError('The leaf is not in the tree of this root.')
}

export interface Tree {
  readonly size: number
  readonly root: Hash
}

/**
 * @param proof as `consistencyProof` lists it
 * @throws ProofError when the proof does not show that the first tree is the beginning of the second
 *
 * Source: RFC 9162 section 2.1.4.2.
 */
export function verifyConsistency(first: Tree, second: Tree, proof: readonly Hash[]): void {
  if (!isSize(first.size) || !isSize(second.size) || first.size > second.size)
    throw new ProofError(`A tree of ${first.size} leaves is not the beginning of one of ${second.size}.`)
  assertHashes([first.root, second.root, ...proof])
  if (first.size === 0 || first.size === second.size) {
    if (proof.length > 0) throw new ProofError('The proof is too long.')
    const expected = first.size === 0 ? EMPTY_ROOT : second.root
    if (!isSameHash(first.root, expected)) throw new ProofError('The roots are not those of one tree.')
    if (second.size === 0 && !isSameHash(second.root, EMPTY_ROOT))
      throw new ProofError('This is not the root of an empty tree.')
    return
  }
  let [node, last] = [first.size - 1, second.size - 1]
  while (node % 2 === 1) [node, last] = [(node - 1) / 2, Math.floor(last / 2)]
  // A perfect first tree is the first node of its own proof.
  const [start, ...more] = node === 0 ? [first.root, ...proof] : proof
  if (start === undefined) throw new ProofError('The proof is too short.')
  let [firstRoot, secondRoot] = [start, start]
  for (const beside of more) {
    if (last === 0) throw new ProofError('The proof is too long.')
    if (node % 2 === 1 || node === last) {
      firstRoot = nodeHash(beside, firstRoot)
      secondRoot = nodeHash(beside, secondRoot)
      while (node % 2 === 0 && node !== 0) [node, last] = [node / 2, Math.floor(last / 2)]
    } else secondRoot = nodeHash(secondRoot, beside)
    ;[node, last] = [Math.floor(node / 2), Math.floor(last / 2)]
  }
  if (last !== 0) throw new ProofError('The proof is too short.')
  if (!isSameHash(firstRoot, first.root)) throw new ProofError('The proof does not have the root of the first tree.')
  if (!isSameHash(secondRoot, second.root)) throw new ProofError('The proof does not have the root of the second tree.')
}

/** Both hashes are public, so the comparison need not take constant time. */
export function isSameHash(one: Hash, other: Hash): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i])
}

/** @throws ProofError */
function assertHashes(hashes: readonly Hash[]): void {
  for (const hash of hashes)
    if (hash.length !== HASH_BYTES) throw new ProofError(`A hash has ${HASH_BYTES} bytes, not ${hash.length}.`)
}
