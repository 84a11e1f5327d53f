/** The trees in memory, which the process that holds the reader extends. */
import { EMPTY_ROOT, leafHashOfText, MerkleTree, type PerfectNode } from '@countersign/audit-log'
import type { AuditEntry } from '@countersign/contract'
import type { RememberedRoot, RememberedTrees } from '../../ports/checkpoint-memory.js'
import type { FeedBatch, Positions, StoredCheckpoint, StoredNode } from '../../ports/store/feed.js'
import {
  hashOf,
  type KeptTree,
  type KeptTrees,
  type LogCheckpoint,
  ROOT_TREE,
  type RootPlace,
  type SignedCheckpoint,
  STORED_LEVEL,
  stateOf,
  textOf,
  treeOf,
} from '../../use-cases/audit/trees.js'

interface Growing<Signed extends SignedCheckpoint> {
  readonly tree: MerkleTree
  checkpoint: Signed | null
}

/** What a process has added since it took the reader. */
export interface Work {
  readonly fence: number
  readonly logs: Map<string, Growing<LogCheckpoint>>
  readonly root: Growing<SignedCheckpoint>
  readonly place: RootPlace
  /** How many entries are in the trees but not saved. */
  unsaved: number
  nodes: StoredNode[]
}

export function workOn(fence: number, { logs, root }: KeptTrees, place: RootPlace = root): Work {
  const { name, base, nodes } = place
  return {
    fence,
    logs: new Map(Object.entries(logs).map(([log, kept]) => [log, growing(kept)])),
    root: growing(root),
    place: { name, base, nodes },
    unsaved: 0,
    nodes: [],
  }
}

/** Trees without a leaf. */
export function emptyWork(fence: number, place: RootPlace): Work {
  const root = { tree: { size: 0, hashes: [] }, checkpoint: null, ...place }
  return workOn(fence, { logs: {}, root })
}

function growing<Signed extends SignedCheckpoint>({ tree, checkpoint }: KeptTree<Signed>): Growing<Signed> {
  return { tree: new MerkleTree(tree), checkpoint }
}

export function logOf(work: Work, log: string): Growing<LogCheckpoint> {
  const found = work.logs.get(log) ?? { tree: new MerkleTree(), checkpoint: null }
  work.logs.set(log, found)
  return found
}

export function addEntry(work: Work, { log, index, leaf }: AuditEntry): void {
  const { tree } = logOf(work, log)
  if (tree.size !== index)
    throw new Error(`The tree of the log ${log} has ${tree.size} leaves, and the next entry is ${index}.`)
  keep(work, treeOf(log), tree.append(hashOf(leaf)))
  work.unsaved += 1
}

/** Adds a checkpoint as a leaf of the root log. */
export function addCheckpoint(work: Work, log: string, signed: SignedCheckpoint): StoredCheckpoint {
  const { place, root } = work
  const stored = { index: place.base + root.tree.size, log, ...signed }
  keep(work, ROOT_TREE, root.tree.append(leafHashOfText(signed.note)))
  return stored
}

function keep(work: Work, tree: string, nodes: readonly PerfectNode[]): void {
  for (const { level, index, hash } of nodes)
    if (level >= STORED_LEVEL) work.nodes.push({ tree: work.place.nodes + tree, level, index, hash: textOf(hash) })
}

/** Returns the positions after the entries in the trees. Nothing else in the store may influence them. */
export function positionsOf({ logs }: Work): Positions {
  return Object.fromEntries([...logs].map(([log, { tree }]) => [log, tree.size]))
}

export function batchOf(work: Work, checkpoints: readonly StoredCheckpoint[]): Partial<FeedBatch> {
  const { logs, root, place, nodes } = work
  const state = stateOf({
    logs: Object.fromEntries([...logs].map(([log, kept]) => [log, { ...kept, tree: kept.tree.state }])),
    root: { ...root, ...place, tree: root.tree.state },
  })
  return { positions: positionsOf(work), state, nodes, checkpoints }
}

export function rootOfWork({ root: { tree }, place: { name } }: Work): RememberedRoot {
  return { name, size: tree.size, root: textOf(tree.root()) }
}

/** Returns a root log that begins: it has signed nothing yet. */
export function newRoot(name: string): RememberedTrees {
  return { root: { name, size: 0, root: textOf(EMPTY_ROOT) }, logs: new Map() }
}
