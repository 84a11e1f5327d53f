/** Lets a command, with or without a running server, find a log that does not extend what the server has signed. */
import { leafHash, MerkleTree, type PerfectNode } from '@countersign/audit-log'
import type { Remembered } from '../../ports/checkpoint-memory.js'
import { readTrees } from '../../use-cases/audit/checkpoints.js'
import { logTree, MissingHashError, type TreeReads } from '../../use-cases/audit/tree-hashes.js'
import { hashOf, type KeptTrees, STORED_LEVEL, textOf } from '../../use-cases/audit/trees.js'
import { type CheckpointKeys, goingOn } from './going-on.js'
import { LastEntries } from './last-entries.js'
import { RewrittenError } from './rewritten-error.js'

const PAGE = 1000

/**
 * Returns why the server would sign nothing; null when the log extends what it has signed and seen. Writes nothing.
 *
 * @param remembered must be read before the store, which changes while a server runs
 * @throws StoreUnavailableError
 */
export async function findRewrite(
  reads: TreeReads,
  remembered: Remembered,
  keys: CheckpointKeys,
  isDeep = false,
): Promise<string | null> {
  if (remembered.kind === 'unreadable') return remembered.why
  try {
    const stored = await readTrees(reads)
    if (remembered.kind === 'trees') await goingOn(reads, stored, remembered, keys)
    await new LastEntries(reads).lookAtAll(stored)
    if (isDeep) await readThrough(reads, stored)
    return null
  } catch (error) {
    if (error instanceof RewrittenError || error instanceof MissingHashError) return error.message
    throw error
  }
}

/**
 * Checks every entry that a checkpoint covers, and every stored node over them, against the trees. @throws
 * RewrittenError
 */
async function readThrough(reads: TreeReads, { logs, root }: KeptTrees): Promise<void> {
  for (const [log, kept] of Object.entries(logs)) {
    const tree = new MerkleTree()
    const { name } = logTree(reads, root, log)
    while (tree.size < kept.tree.size) {
      const from = tree.size
      const nodes: PerfectNode[] = []
      for (const entry of await reads.audit.read(log, from, Math.min(PAGE, kept.tree.size - from))) {
        if (entry.index !== tree.size) break
        if (leafHash(entry) !== entry.leaf)
          throw new RewrittenError(`Entry ${entry.index} of log ${log} differs from its hash.`)
        nodes.push(...tree.append(hashOf(entry.leaf)))
      }
      if (tree.size === from)
        throw new RewrittenError(`Entry ${tree.size} of log ${log} is under a checkpoint, and the store lacks it.`)
      await assertStored(reads, name, nodes)
    }
    if (textOf(tree.root()) !== textOf(new MerkleTree(kept.tree).root()))
      throw new RewrittenError(`The entries of log ${log} are not those of its checkpoint: one was replaced.`)
  }
}

/** @throws RewrittenError when a stored node is missing or wrong */
async function assertStored(reads: TreeReads, tree: string, nodes: readonly PerfectNode[]): Promise<void> {
  const wanted = nodes.filter(({ level }) => level >= STORED_LEVEL)
  const found = new Map(
    (await reads.trees.getNodes(tree, wanted)).map(({ level, index, hash }) => [`${level}/${index}`, hash]),
  )
  for (const { level, index, hash } of wanted)
    if (found.get(`${level}/${index}`) !== textOf(hash))
      throw new RewrittenError(`The tree ${tree} lacks the node ${index} of level ${level}, or has another one.`)
}
