import { expect } from 'vitest'
import type { StoredCheckpoint, StoredNode } from '#server/ports/store/feed'
import { instant } from './documents.js'
import { batchOf, held } from './readers.js'
import type { StoreCase } from './store-case.js'

export function nodeOf(tree: string, level: number, index: number): StoredNode {
  return { tree, level, index, hash: `${tree}-${level}-${index}` }
}

export function checkpointOf(index: number, over: Partial<StoredCheckpoint> = {}): StoredCheckpoint {
  return {
    index,
    log: 'log',
    size: index + 1,
    created_at: instant(index),
    note: `log\n${index}\n\n— naïve ☃\n`,
    ...over,
  }
}

export const TREE_CASES: readonly StoreCase[] = [
  {
    title: 'finds the nodes of one tree that there are',
    async run({ store, reopen }) {
      const nodes = ['log/a', 'log/a/8', 'root'].flatMap((tree) =>
        [8, 9, 10].flatMap((level) => [0, 1, 10].map((index) => nodeOf(tree, level, index))),
      )
      const reader = await held(store, 'trees')
      expect(await store.readers.save(batchOf(reader, { nodes: nodes.toReversed() }))).toBe(true)
      const feed = await reopen()
      for (const tree of ['log/a', 'log/a/8', 'root']) {
        const found = await feed.trees.getNodes(tree, [
          { level: 8, index: 10 },
          { level: 9, index: 1 },
          { level: 9, index: 2 },
          { level: 11, index: 0 },
        ])
        expect(found.toSorted((a, b) => a.level - b.level)).toStrictEqual([nodeOf(tree, 8, 10), nodeOf(tree, 9, 1)])
      }
      expect(await feed.trees.getNodes('log', [{ level: 8, index: 0 }])).toEqual([])
      expect(await feed.trees.getNodes('root', [])).toEqual([])
    },
  },
  {
    title: 'lists checkpoints from an index on, in the order of the indexes',
    async run({ store, reopen }) {
      const checkpoints = [...Array(12).keys()].map((index) => checkpointOf(index))
      const reader = await held(store, 'trees')
      await store.readers.save(batchOf(reader, { checkpoints: checkpoints.toReversed() }))
      const feed = await reopen()
      expect(await feed.trees.listCheckpoints(0, 100)).toStrictEqual(checkpoints)
      expect(await feed.trees.listCheckpoints(9, 2)).toStrictEqual(checkpoints.slice(9, 11))
      expect(await feed.trees.listCheckpoints(12, 10)).toEqual([])
    },
  },
  {
    title: 'writes no node and no checkpoint for a holder that has lost its reader, and changes none that there is',
    async run({ store, reopen }) {
      const lost = await held(store, 'trees', 'a', 0)
      const reader = await held(store, 'trees', 'b')
      const [node, checkpoint] = [nodeOf('log/a', 8, 0), checkpointOf(0)]
      const stale = batchOf(lost, { nodes: [nodeOf('log/a', 8, 1)], checkpoints: [checkpointOf(1)] })
      expect(await store.readers.save(stale)).toBe(false)
      await store.readers.save(batchOf(reader, { nodes: [node], checkpoints: [checkpoint] }))
      expect(await store.readers.save(stale)).toBe(false)
      const others = { nodes: [{ ...node, hash: 'other' }], checkpoints: [checkpointOf(0, { note: 'other' })] }
      await store.readers.save(batchOf(reader, others))
      const feed = await reopen()
      const places = [0, 1].map((index) => ({ level: 8, index }))
      expect(await feed.trees.getNodes('log/a', places)).toStrictEqual([node])
      expect(await feed.trees.listCheckpoints(0, 10)).toStrictEqual([checkpoint])
    },
  },
]
