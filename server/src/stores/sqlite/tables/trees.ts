import type { NodePlace, StoredCheckpoint, StoredNode } from '../../../ports/store/feed.js'
import type { Page, PageRequest } from '../../../ports/store/page.js'
import type { Connection } from '../driver.js'
import { readInOrder } from '../read-in-order.js'

export function addNodes(db: Connection, nodes: readonly StoredNode[]): void {
  for (const { tree, level, index, hash } of nodes)
    db.run(
      'INSERT INTO tree_nodes (tree, level, node_index, hash) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
      tree,
      level,
      index,
      hash,
    )
}

export function findNodes(db: Connection, tree: string, places: readonly NodePlace[]): readonly StoredNode[] {
  return places.flatMap(({ level, index }) => {
    const row = db.get(
      'SELECT hash FROM tree_nodes WHERE tree = ? AND level = ? AND node_index = ?',
      tree,
      level,
      index,
    )
    return row === undefined ? [] : [{ tree, level, index, hash: row.hash as string }]
  })
}

export function addCheckpoints(db: Connection, checkpoints: readonly StoredCheckpoint[]): void {
  for (const checkpoint of checkpoints)
    db.run(
      'INSERT INTO log_checkpoints (root_index, document) VALUES (?, ?) ON CONFLICT DO NOTHING',
      checkpoint.index,
      JSON.stringify(checkpoint),
    )
}

export function listCheckpoints(db: Connection, fromIndex: number, limit: number): readonly StoredCheckpoint[] {
  return db
    .all('SELECT document FROM log_checkpoints WHERE root_index >= ? ORDER BY root_index LIMIT ?', fromIndex, limit)
    .map(({ document }) => JSON.parse(document as string))
}

export function readAllNodes(db: Connection, { limit, after }: PageRequest): Page<StoredNode> {
  const [tree, level, index]: [string, number, number] = after === null ? ['', -1, -1] : JSON.parse(after)
  const items = db
    .all(
      `SELECT tree, level, node_index, hash FROM tree_nodes WHERE (tree, level, node_index) > (?, ?, ?)
       ORDER BY tree, level, node_index LIMIT ?`,
      tree,
      level,
      index,
      limit,
    )
    .map((row) => ({
      tree: row.tree as string,
      level: row.level as number,
      index: row.node_index as number,
      hash: row.hash as string,
    }))
  const last = items.at(-1)
  const isLast = last === undefined || items.length < limit
  return { items, next: isLast ? null : JSON.stringify([last.tree, last.level, last.index]) }
}

export function readAllCheckpoints(db: Connection, page: PageRequest): Promise<Page<StoredCheckpoint>> {
  return readInOrder(db, 'log_checkpoints', page, {
    read: (seq) => db.get('SELECT document FROM log_checkpoints WHERE root_index = ?', seq),
    make: ({ document }) => JSON.parse(document as string),
  })
}
