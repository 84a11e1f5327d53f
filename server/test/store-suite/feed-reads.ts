/** What the feed reads of what the store keeps anyway, and the second opening of the store for it. */

import { expect } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { FeedStore } from '#server/ports/store/feed'
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
import { type CallOf, type StoreCase, WHOLE } from './store-case.js'
import { checkpointOf, nodeOf } from './trees.js'

const entryOnly = { kind: 'entry.only' } as const
const COUNT = { id: 'count', series: 'series', starts_ms: 5, document: { count: 1 } }

type FeedWrite =
  | 'close'
  | 'counts.remove'
  | `deliveries.${'add' | 'update' | 'remove'}`
  | `readers.${'hold' | 'release' | 'save' | 'remove'}`

/** A call of each read. */
const READS: {
  readonly [Name in Exclude<CallOf<FeedStore>, FeedWrite>]: (reads: FeedStore, log: string) => Promise<unknown>
} = {
  'audit.read': ({ audit }, log) => audit.read(log, 1, 3),
  'audit.listLogs': ({ audit }) => audit.listLogs(),
  'decisions.get': ({ decisions }) => decisions.get(idOf('dec', 1)),
  'agents.get': ({ agents }) => agents.get('agent:1'),
  'policies.getRevision': ({ policies }) => policies.getRevision(idOf('pol', 1), 1),
  'policies.listRevisions': ({ policies }) => policies.listRevisions(idOf('pol', 1), WHOLE),
  'keys.load': ({ keys }) => keys.load(),
  'webhooks.load': ({ webhooks }) => webhooks.load(),
  'accounts.get': ({ accounts }) => accounts.get([accountOf()]),
  'readers.list': ({ readers }) => readers.list(''),
  'readers.get': ({ readers }) => readers.get('reader'),
  'deliveries.get': ({ deliveries }) => deliveries.get(idOf('dlv', 1)),
  'deliveries.list': ({ deliveries }) => deliveries.list({ webhook_id: idOf('whk', 1) }, WHOLE),
  'deliveries.listDue': ({ deliveries }) => deliveries.listDue(idOf('whk', 1), instant(100), 10),
  'deliveries.pendingOf': ({ deliveries }) => deliveries.pendingOf(idOf('whk', 1)),
  'counts.list': ({ counts }) => counts.list({ series: 'series', from_ms: 0, to_ms: 10 }, 10),
  'trees.getNodes': ({ trees }) => trees.getNodes('tree', [{ level: 8, index: 0 }]),
  'trees.listCheckpoints': ({ trees }) => trees.listCheckpoints(0, 10),
}

export const FEED_READ_CASES: readonly StoreCase[] = [
  {
    title: 'names every log that has an entry, in order, with the index behind its last entry',
    async run({ store, reopen }) {
      expect(await store.audit.listLogs()).toEqual([])
      const ends = new Map<string, number>()
      const listed = () =>
        [...ends].map(([log, next_index]) => ({ log, next_index })).toSorted((a, b) => (a.log < b.log ? -1 : 1))
      let written = 0
      let open = store
      // Enough that the order of texts is not that of numbers.
      for (const count of [1, 9, 10, 11, 120]) {
        const pen = await LogPen.of(open)
        expect(await open.audit.listLogs()).toEqual(listed())
        await pen.commit(
          ...Array.from({ length: count }, () => ({ change: entryOnly, entry: { id: idOf('aud', written++) } })),
        )
        ends.set(pen.log, count)
        expect(await open.audit.listLogs()).toEqual(listed())
        open = await reopen()
        expect(await open.audit.listLogs()).toEqual(listed())
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
        expect(await store.audit.listLogs()).toEqual([{ log: pen.log, next_index: next }])
      }
      const reopened = await reopen()
      const later = await LogPen.of(reopened)
      await later.commit(entryOnly, entryOnly)
      const total = (await reopened.audit.listLogs()).reduce((sum, { next_index }) => sum + next_index, 0)
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
      expect(await store.policies.getRevision(first.id, 2)).toStrictEqual(second)
      await pen.commit(...[deleted, other].map(writePolicyOf))
      const feed = await reopen()
      expect(await feed.policies.getRevision(first.id, 1)).toStrictEqual(first)
      expect(await feed.policies.getRevision(first.id, 2)).toStrictEqual({ ...second, deleted_at: instant(8) })
      expect(await feed.policies.getRevision(other.id, 1)).toStrictEqual(other)
      for (const revision of [0, 3, 4]) expect(await feed.policies.getRevision(first.id, revision)).toBeNull()
      expect(await feed.policies.getRevision(idOf('pol', 3), 1)).toBeNull()
    },
  },
  {
    title: 'answers every read of the feed the same, in the store and where it was opened for the feed',
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
      await store.readers.save(
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
        const answer = await read(store, pen.log)
        expect(answer, name).toBeTruthy()
        if (Array.isArray(answer)) expect(answer, name).not.toHaveLength(0)
        expect(await read(opened, pen.log), name).toStrictEqual(answer)
      }
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
        expect(await opened.decisions.get(idOf('dec', number))).not.toBeNull()
        await store.deliveries.add(deliveryOf(number))
        expect(await opened.deliveries.get(idOf('dlv', number))).not.toBeNull()
      }
      await opened.close()
      for (const [name, read] of Object.entries(READS))
        await expect(read(opened, pen.log), name).rejects.toThrow(StoreUnavailableError)
      expect(await other.audit.listLogs()).toEqual([{ log: pen.log, next_index: 20 }])
      await pen.commit(createOf(decisionOf(21)))
      expect(await other.audit.listLogs()).toEqual([{ log: pen.log, next_index: 21 }])
      await other.close()
    },
  },
]
