import { type Hash, type LeafRange, leafHashOfText, MerkleTree, perfectNodesOf, rootOf } from '@countersign/audit-log'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import type { FeedStore } from '../../ports/store/feed.js'
import { BLOCK, hashOf, ROOT_TREE, type RootPlace, STORED_LEVEL, treeOf } from './trees.js'

export type TreeReads = Pick<FeedStore, 'readers' | 'trees' | 'audit'>

/** Reads the leaves of a tree from an index on: at most `limit`, and at least one if any exist. */
type ReadLeaves = (from: number, limit: number) => Promise<readonly Hash[]>

/** A tree whose hashes are read from the store. */
export interface StoredTree {
  readonly name: string
  readonly readLeaves: ReadLeaves
}

/** The hash is missing from the store: it was removed. */
export class MissingHashError extends StoreUnavailableError {}

export function logTree(reads: TreeReads, { nodes }: Pick<RootPlace, 'nodes'>, log: string): StoredTree {
  return {
    name: nodes + treeOf(log),
    readLeaves: async (from, limit) => (await reads.audit.read(log, from, limit)).map(({ leaf }) => hashOf(leaf)),
  }
}

export function rootTree(reads: TreeReads, { nodes, base }: Pick<RootPlace, 'nodes' | 'base'>): StoredTree {
  return {
    name: nodes + ROOT_TREE,
    readLeaves: async (from, limit) =>
      (await reads.trees.listCheckpoints(base + from, limit)).map(({ note }) => leafHashOfText(note)),
  }
}

/**
 * Computes the roots of subtrees from stored nodes, and from leaves where a subtree is smaller than a block. The
 * subtrees of one proof lie in two blocks at most.
 *
 * @throws MissingHashError when a hash is missing from the store; StoreUnavailableError
 */
export async function rootsOf(
  reads: TreeReads,
  { name, readLeaves }: StoredTree,
  ranges: readonly LeafRange[],
): Promise<readonly Hash[]> {
  const parts = ranges.map(perfectNodesOf)
  const places = parts.flat()
  const stored = await reads.trees.getNodes(
    name,
    places.filter(({ level }) => level >= STORED_LEVEL),
  )
  const hashes = new Map(stored.map((node) => [keyOf(node), hashOf(node.hash)]))
  const blocks = new Map<number, readonly Hash[]>()
  for (const place of places) {
    if (place.level >= STORED_LEVEL) continue
    const width = 2 ** place.level
    const from = place.index * width
    const block = Math.floor(from / BLOCK)
    const leaves = blocks.get(block) ?? (await readBlock(readLeaves, block))
    blocks.set(block, leaves)
    const own = leaves.slice(from - block * BLOCK, from - block * BLOCK + width)
    if (own.length === width) hashes.set(keyOf(place), rootOfLeaves(own))
  }
  return parts.map((part) =>
    rootOf(
      part.map((place) => {
        const hash = hashes.get(keyOf(place))
        if (hash === undefined)
          throw new MissingHashError(`The tree ${name} lacks the node ${place.index} of level ${place.level}.`)
        return hash
      }),
    ),
  )
}

async function readBlock(readLeaves: ReadLeaves, block: number): Promise<readonly Hash[]> {
  const leaves: Hash[] = []
  while (leaves.length < BLOCK) {
    const more = await readLeaves(block * BLOCK + leaves.length, BLOCK - leaves.length)
    if (more.length === 0) break
    leaves.push(...more)
  }
  return leaves
}

function rootOfLeaves(leaves: readonly Hash[]): Hash {
  const tree = new MerkleTree()
  for (const leaf of leaves) tree.append(leaf)
  return tree.root()
}

function keyOf({ level, index }: { readonly level: number; readonly index: number }): string {
  return `${level}/${index}`
}
