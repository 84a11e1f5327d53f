import type { FeedBatch, NodePlace, StoredCheckpoint, StoredNode } from '@countersign/store-port/feed'
import type { Database } from '../connection/database.js'
import type { TreeNodeDocument } from '../stored.js'

/** What a save has of the trees. */
export type SavedTrees = Pick<FeedBatch, 'nodes' | 'checkpoints'>

/** Nothing of it ever changes: so it does not matter how often or how late it is written. */
export async function addTrees(database: Database, { nodes, checkpoints }: SavedTrees): Promise<void> {
  await database.insertNew(
    database.treeNodes,
    nodes.map((node) => ({ _id: nodeId(node.tree, node), hash: node.hash })),
  )
  await database.insertNew(
    database.checkpoints,
    checkpoints.map((checkpoint) => ({ _id: checkpointId(checkpoint.index), document: JSON.stringify(checkpoint) })),
  )
}

export async function findNodes(
  database: Database,
  tree: string,
  places: readonly NodePlace[],
): Promise<readonly StoredNode[]> {
  if (places.length === 0) return []
  const byId = new Map(places.map((place) => [nodeId(tree, place), place]))
  const found = await database.call(() =>
    database.treeNodes.find<TreeNodeDocument>({ _id: { $in: [...byId.keys()] } }).toArray(),
  )
  return found.map(({ _id, hash }) => {
    const { level, index } = byId.get(_id) as NodePlace
    return { tree, level, index, hash }
  })
}

export async function listCheckpoints(
  database: Database,
  fromIndex: number,
  limit: number,
): Promise<readonly StoredCheckpoint[]> {
  const found = await database.call(() =>
    database.checkpoints
      .find({ _id: { $gte: checkpointId(fromIndex) } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray(),
  )
  return found.map(({ document }) => JSON.parse(document))
}

function nodeId(tree: string, { level, index }: NodePlace): string {
  return `${tree}/${level}/${index}`
}

const DIGITS = 16

/** The order of the ids, which are texts, is that of the indexes. */
function checkpointId(index: number): string {
  return String(index).padStart(DIGITS, '0')
}
