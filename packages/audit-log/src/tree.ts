/** The Merkle tree of RFC 6962, which gives the root of a log of any size. */
import { sha256 } from '#sha256'

/** 32 bytes: the SHA-256 of a leaf, of a node, or of the empty tree. */
export type Hash = Uint8Array

export const HASH_BYTES = 32

const NODE_PREFIX = 1

/** The root of the tree without leaves. */
export const EMPTY_ROOT: Hash = sha256('')

/** The hash of an inner node. Source: RFC 6962 section 2.1. */
export function nodeHash(left: Hash, right: Hash): Hash {
  const bytes = new Uint8Array(1 + 2 * HASH_BYTES)
  bytes[0] = NODE_PREFIX
  bytes.set(left, 1)
  bytes.set(right, 1 + HASH_BYTES)
  return sha256(bytes)
}

/** A node over 2^`level` leaves, all of which exist. It is the `index`-th of its level. */
export interface PerfectNode {
  readonly level: number
  readonly index: number
  readonly hash: Hash
}

/** The leaves from `from` to `to` - 1. */
export interface LeafRange {
  readonly from: number
  readonly to: number
}

/** The state of an append-only tree: its size, and the roots of the perfect trees that it consists of. */
export interface TreeState {
  readonly size: number
  /** The largest tree first; one for each 1 bit of the size. */
  readonly hashes: readonly Hash[]
}

/** An append-only tree. Its memory grows with the logarithm of its size. */
export class MerkleTree {
  #size: number
  readonly #hashes: Hash[]

  /**
   * @param state of a tree to continue; the empty tree when absent
   * @throws Error when the state has more or fewer hashes than its size needs
   */
  constructor(state: TreeState = { size: 0, hashes: [] }) {
    if (!isSize(state.size)) throw new Error(`${state.size} is not the size of a tree.`)
    const needed = perfectNodesOf({ from: 0, to: state.size }).length
    if (state.hashes.length !== needed)
      throw new Error(`A tree of ${state.size} leaves has ${needed} hashes, not ${state.hashes.length}.`)
    this.#size = state.size
    this.#hashes = [...state.hashes]
  }

  get size(): number {
    return this.#size
  }

  get state(): TreeState {
    return { size: this.#size, hashes: [...this.#hashes] }
  }

  /**
   * Adds a leaf.
   *
   * @param leaf its leaf hash
   * @returns the nodes that this leaf completes, the leaf first: a program that keeps them can prove later
   */
  append(leaf: Hash): PerfectNode[] {
    assertHash(leaf)
    const made = [{ level: 0, index: this.#size, hash: leaf }]
    let hash = leaf
    for (let [level, index] = [0, this.#size]; index % 2 === 1; level += 1, index = (index - 1) / 2) {
      hash = nodeHash(this.#hashes.pop() as Hash, hash)
      made.push({ level: level + 1, index: (index - 1) / 2, hash })
    }
    this.#hashes.push(hash)
    this.#size += 1
    return made
  }

  root(): Hash {
    return rootOf(this.#hashes)
  }
}

/** Returns the root over adjacent perfect trees, the largest first. */
export function rootOf(hashes: readonly Hash[]): Hash {
  return hashes.length === 0 ? EMPTY_ROOT : hashes.reduceRight((right, left) => nodeHash(left, right))
}

/** Returns the fewest perfect nodes that cover a range of leaves, from left to right. */
export function perfectNodesOf({ from, to }: LeafRange): Omit<PerfectNode, 'hash'>[] {
  const nodes: Omit<PerfectNode, 'hash'>[] = []
  for (let at = from; at < to; ) {
    let [level, width] = [0, 1]
    while (at % (width * 2) === 0 && at + width * 2 <= to) [level, width] = [level + 1, width * 2]
    nodes.push({ level, index: at / width })
    at += width
  }
  return nodes
}

export function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** @throws Error */
function assertHash(hash: Hash): void {
  if (hash.length !== HASH_BYTES) throw new Error(`A hash has ${HASH_BYTES} bytes, not ${hash.length}.`)
}
