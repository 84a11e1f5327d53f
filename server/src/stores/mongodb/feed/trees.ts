import type { FeedBatch, NodePlace, StoredCheckpoint, StoredNode } from '../../../ports/store/feed.js'
import type { Database } from '../connection/database.js'

/** The name of the reader whose saves contain the trees. */
const TREES_READER = 'trees'

export type SavedTrees = Pick<FeedBatch, 'nodes' | 'checkpoints'>

/** None of it ever changes, so it may be written repeatedly and late. */
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
  const found = await readNodes(database, tree, places)
  if (found.length === places.length) return found
  const { nodes } = await readLastSave(database)
  const all = [...nodes.filter((node) => node.tree === tree), ...(await readNodes(database, tree, places))]
  const byId = new Map(all.map((node) => [nodeId(tree, node), node]))
  return places.flatMap((place) => byId.get(nodeId(tree, place)) ?? [])
}

async function readNodes(database: Database, tree: string, places: readonly NodePlace[]) {
  const byId = new Map(places.map((place) => [nodeId(tree, place), place]))
  const found = await database.findByIds(database.treeNodes, [...byId.keys()])
  return [...found.values()].map(({ _id, hash }): StoredNode => {
    const { level, index } = byId.get(_id) as NodePlace
    return { tree, level, index, hash }
  })
}

/**
 * Reads the trees of the last save, which are copied after its reader's document: after a crash in between only the
 * document has them. It is read before the copies, so that nothing of an earlier save is missed.
 */
async function readLastSave(database: Database): Promise<SavedTrees> {
  const found = await database.call(() =>
    database.readers.findOne({ _id: { $eq: TREES_READER } }, { projection: { trees: 1 } }),
  )
  return found?.trees == null ? { nodes: [], checkpoints: [] } : JSON.parse(found.trees)
}

export async function listCheckpoints(
  database: Database,
  fromIndex: number,
  limit: number,
): Promise<readonly StoredCheckpoint[]> {
  const found = await readCheckpoints(database, fromIndex, limit)
  if (found.length === limit && found.every(({ index }, i) => index === fromIndex + i)) return found
  const last = (await readLastSave(database)).checkpoints.filter(({ index }) => index >= fromIndex)
  const byIndex = new Map(
    [...last, ...(await readCheckpoints(database, fromIndex, limit))].map((one) => [one.index, one]),
  )
  return [...byIndex.values()].sort((one, other) => one.index - other.index).slice(0, limit)
}

async function readCheckpoints(
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

export async function findNodesOfTrees(
  database: Database,
  nodes: readonly StoredNode[],
): Promise<readonly (StoredNode | null)[]> {
  const idOf = (node: StoredNode) => nodeId(node.tree, node)
  const found = await database.findByIds(database.treeNodes, nodes.map(idOf))
  return nodes.map((node) => {
    const hash = found.get(idOf(node))?.hash
    return hash === undefined ? null : { ...node, hash }
  })
}

export async function findCheckpoints(
  database: Database,
  checkpoints: readonly StoredCheckpoint[],
): Promise<readonly (StoredCheckpoint | null)[]> {
  const ids = checkpoints.map(({ index }) => checkpointId(index))
  return database.findInOrder(database.checkpoints, ids, ({ document }) => JSON.parse(document))
}

function nodeId(tree: string, { level, index }: NodePlace): string {
  return `${tree}/${level}/${index}`
}

const DIGITS = 16

/** The text order of the ids is the order of the indexes. */
function checkpointId(index: number): string {
  return String(index).padStart(DIGITS, '0')
}
