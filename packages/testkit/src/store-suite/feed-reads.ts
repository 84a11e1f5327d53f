/** What the feed reads of what the store keeps anyway, and the second opening of the store for it. */
import type { FeedReads } from '@countersign/store-port/feed'
import { StoreUnavailableError } from '@countersign/store-port/store'
import { expect } from 'vitest'
import {
  accountOf,
  agentOf,
  createOf,
  decisionOf,
  deliveryOf,
  heldIn,
  idOf,
  instant,
  keyOf,
  LogPen,
  policyOf,
  requestOf,
  webhookOf,
  writeAgentOf,
  writeKeyOf,
  writePolicyOf,
  writeWebhookOf,
} from './documents.js'
import { batchOf, held } from './readers.js'
import { type StoreCase, WHOLE } from './store-case.js'
import { checkpointOf, nodeOf } from './trees.js'

const entryOnly = { kind: 'entry.only' } as const
const COUNT = { id: 'count', series: 'series', starts_ms: 5, document: { count: 1 } }

/** A call of each read. */
const READS: { readonly [Name in keyof FeedReads]: (reads: FeedReads, log: string) => Promise<unknown> } = {
  readLog: (reads, log) => reads.readLog(log, 1, 3),
  listLogs: (reads) => reads.listLogs(),
  findDecision: (reads) => reads.findDecision(idOf('dec', 1)),
  findAgent: (reads) => reads.findAgent('agent:1'),
  findPolicyRevision: (reads) => reads.findPolicyRevision(idOf('pol', 1), 1),
  listPolicyRevisions: (reads) => reads.listPolicyRevisions(idOf('pol', 1), WHOLE),
  loadKeys: (reads) => reads.loadKeys(),
  loadWebhooks: (reads) => reads.loadWebhooks(),
  readAccounts: (reads) => reads.readAccounts([accountOf()]),
  listReaders: (reads) => reads.listReaders(''),
  findReader: (reads) => reads.findReader('reader'),
  findDelivery: (reads) => reads.findDelivery(idOf('dlv', 1)),
  listDeliveries: (reads) => reads.listDeliveries({ webhook_id: idOf('whk', 1) }, WHOLE),
  listDue: (reads) => reads.listDue(idOf('whk', 1), instant(100), 10),
  pendingOf: (reads) => reads.pendingOf(idOf('whk', 1)),
  listCounts: (reads) => reads.listCounts({ series: 'series', from_ms: 0, to_ms: 10 }, 10),
  findNodes: (reads) => reads.findNodes('tree', [{ level: 8, index: 0 }]),
  listCheckpoints: (reads) => reads.listCheckpoints(0, 10),
}

export const FEED_READ_CASES: readonly StoreCase[] = [
  {
    title: 'names every log that has an entry, in order, with the index behind its last entry',
    async run({ store, reopen }) {
      expect(await store.feed.listLogs()).toEqual([])
      const ends = new Map<string, number>()
      const listed = () =>
        [...ends].map(([log, next_index]) => ({ log, next_index })).toSorted((a, b) => (a.log < b.log ? -1 : 1))
      let written = 0
      let open = store
      // So many that the order of texts is not that of numbers.
      for (const count of [1, 9, 10, 11, 120]) {
        const pen = await LogPen.of(open)
        expect(await open.feed.listLogs()).toEqual(listed())
        await pen.commit(
          ...Array.from({ length: count }, () => ({ change: entryOnly, entry: { id: idOf('aud', written++) } })),
        )
        ends.set(pen.log, count)
        expect(await open.feed.listLogs()).toEqual(listed())
        open = await reopen()
        expect(await open.feed.listLogs()).toEqual(listed())
        await open.leaveLogs()
      }
      expect(ends.size).toBe(5)
    },
  },
  {
    title: 'knows the end of a log as soon as a commit has resolved, also of one that goes on after a restart',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      for (let next = 1; next <= 12; next += 1) {
        await pen.commit(entryOnly)
        expect(await store.feed.listLogs()).toEqual([{ log: pen.log, next_index: next }])
      }
      const reopened = await reopen()
      const later = await LogPen.of(reopened)
      await later.commit(entryOnly, entryOnly)
      const total = (await reopened.feed.listLogs()).reduce((sum, { next_index }) => sum + next_index, 0)
      expect(total).toBe(14)
    },
  },
  {
    title: 'finds each revision of a policy, also of one that was deleted',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const [first, second] = [policyOf(1, 1), policyOf(1, 2, { version: 2, updated_at: instant(5) })]
      const deleted = policyOf(1, 3, { version: 3, deleted_at: instant(8) })
      const other = policyOf(2, 4)
      await pen.commit(...[first, second].map(writePolicyOf))
      expect(await store.feed.findPolicyRevision(first.id, 2)).toStrictEqual(second)
      await pen.commit(...[deleted, other].map(writePolicyOf))
      const { feed } = await reopen()
      expect(await feed.findPolicyRevision(first.id, 1)).toStrictEqual(first)
      expect(await feed.findPolicyRevision(first.id, 2)).toStrictEqual({ ...second, deleted_at: instant(8) })
      expect(await feed.findPolicyRevision(other.id, 1)).toStrictEqual(other)
      for (const revision of [0, 3, 4]) expect(await feed.findPolicyRevision(first.id, revision)).toBeNull()
      expect(await feed.findPolicyRevision(idOf('pol', 3), 1)).toBeNull()
    },
  },
  {
    title: 'answers every read of the feed the same, by itself, in the feed, and where it was opened for it',
    async run({ store, openFeedReads }) {
      const pen = await LogPen.of(store)
      const decision = decisionOf(1, { agent_id: 'agent:1', postings: [heldIn(accountOf(), 5n)] })
      await pen.commit(
        createOf(decision, requestOf(1)),
        writePolicyOf(policyOf(1, 1)),
        writeKeyOf(keyOf(1)),
        writeWebhookOf(webhookOf(1)),
        writeAgentOf(agentOf('agent:2')),
      )
      const reader = await held(store, 'reader')
      await store.feed.save(
        batchOf(reader, {
          positions: { [pen.log]: 3 },
          deliveries: [deliveryOf(1)],
          counts: [COUNT],
          nodes: [nodeOf('tree', 8, 0)],
          checkpoints: [checkpointOf(0)],
        }),
      )
      const opened = await openFeedReads()
      for (const [name, read] of Object.entries(READS)) {
        const answer = await read(store.feed, pen.log)
        expect(answer, name).toBeTruthy()
        if (Array.isArray(answer)) expect(answer, name).not.toHaveLength(0)
        expect(await read(opened, pen.log), name).toStrictEqual(answer)
      }
      for (const name of ['readLog', 'findDecision', 'findAgent', 'loadKeys', 'loadWebhooks', 'readAccounts'] as const)
        expect(await READS[name](store.feed, pen.log), name).toStrictEqual(
          await READS[name](store as unknown as FeedReads, pen.log),
        )
      await opened.close()
    },
  },
  {
    title: 'sees in the opening for the feed what has resolved in the store, and goes on when that is closed',
    async run({ store, openFeedReads }) {
      const [opened, other] = [await openFeedReads(), await openFeedReads()]
      const pen = await LogPen.of(store)
      for (let number = 1; number <= 20; number += 1) {
        await pen.commit(createOf(decisionOf(number)))
        expect(await opened.findDecision(idOf('dec', number))).not.toBeNull()
        await store.feed.addDelivery(deliveryOf(number))
        expect(await opened.findDelivery(idOf('dlv', number))).not.toBeNull()
      }
      await opened.close()
      for (const [name, read] of Object.entries(READS))
        await expect(read(opened, pen.log), name).rejects.toThrow(StoreUnavailableError)
      expect(await other.listLogs()).toEqual([{ log: pen.log, next_index: 20 }])
      await pen.commit(createOf(decisionOf(21)))
      expect(await other.listLogs()).toEqual([{ log: pen.log, next_index: 21 }])
      await other.close()
    },
  },
]
