import type { FeedReads, FeedWrites } from '@countersign/store-port/feed'
import { type Store, StoreUnavailableError } from '@countersign/store-port/store'
import { expect } from 'vitest'
import { accountOf, createOf, decisionOf, deliveryOf, idempotencyOf, idOf, instant, LogPen } from './documents.js'
import { batchOf } from './readers.js'
import { type StoreCase, WHOLE } from './store-case.js'

/** Every call of the port that can be refused. */
const CALLS: {
  readonly [Name in
    | Exclude<keyof Store, 'close' | 'ledger' | 'replicas' | 'feed'>
    | 'ledger.reserve'
    | 'ledger.balances'
    | `feed.${keyof FeedReads | keyof FeedWrites}`]: (store: Store) => Promise<unknown>
} = {
  commit: (store) => store.commit([]),
  openLog: (store) => store.openLog(),
  hasEntry: (store) => store.hasEntry({ log: 'log', index: 0 }),
  readLog: (store) => store.readLog('log', 0, 10),
  isRestored: (store) => store.isRestored(),
  leaveLogs: (store) => store.leaveLogs(),
  findDecision: (store) => store.findDecision(idOf('dec', 1)),
  findDecisionStatus: (store) => store.findDecisionStatus(idOf('dec', 1)),
  listDecisions: (store) => store.listDecisions({ agents: null, now: instant(0) }, WHOLE),
  listOpenReviews: (store) => store.listOpenReviews(instant(0)),
  listOverdue: (store) => store.listOverdue('authorized', instant(0), 10),
  firstApprovalEnd: (store) => store.firstApprovalEnd(),
  listClosed: (store) => store.listClosed({ evaluated_before: instant(0), ended_before: instant(0) }, WHOLE),
  removeDecisions: (store) => store.removeDecisions([{ id: idOf('dec', 1), version: 1 }], instant(0)),
  listHeldRequests: (store) => store.listHeldRequests({}, WHOLE),
  wipe: (store) => store.wipe(),
  listAccounts: (store) => store.listAccounts({ agents: null }, WHOLE),
  readAccounts: (store) => store.readAccounts([]),
  loadPolicies: (store) => store.loadPolicies(),
  loadPoliciesOfSet: (store) => store.loadPoliciesOfSet(1),
  listPolicies: (store) => store.listPolicies(WHOLE),
  listPolicyRevisions: (store) => store.listPolicyRevisions(idOf('pol', 1), WHOLE),
  loadAgents: (store) => store.loadAgents(),
  findAgent: (store) => store.findAgent('agent:1'),
  listAgents: (store) => store.listAgents(null, WHOLE),
  findAgentMetadata: (store) => store.findAgentMetadata('agent:1', 1),
  loadKeys: (store) => store.loadKeys(),
  loadKeyUses: (store) => store.loadKeyUses(),
  saveKeyUses: (store) => store.saveKeyUses(new Map()),
  loadWebhooks: (store) => store.loadWebhooks(),
  findIdempotency: (store) => store.findIdempotency(idempotencyOf(''), instant(0)),
  purgeIdempotency: (store) => store.purgeIdempotency(instant(0)),
  listAuditEntries: (store) => store.listAuditEntries({}, WHOLE),
  secret: (store) => store.secret('cursors'),
  ping: (store) => store.ping(),
  'ledger.reserve': (store) =>
    store.ledger.reserve({
      decision_id: idOf('dec', 1),
      version: 0,
      demands: [{ account: accountOf(), amount: 0n, limit: null }],
    }),
  'ledger.balances': (store) => store.ledger.balances([accountOf()]),
  'feed.readLog': ({ feed }) => feed.readLog('log', 0, 10),
  'feed.listLogs': ({ feed }) => feed.listLogs(),
  'feed.findDecision': ({ feed }) => feed.findDecision(idOf('dec', 1)),
  'feed.findAgent': ({ feed }) => feed.findAgent('agent:1'),
  'feed.findPolicyRevision': ({ feed }) => feed.findPolicyRevision(idOf('pol', 1), 1),
  'feed.listPolicyRevisions': ({ feed }) => feed.listPolicyRevisions(idOf('pol', 1), WHOLE),
  'feed.loadKeys': ({ feed }) => feed.loadKeys(),
  'feed.loadWebhooks': ({ feed }) => feed.loadWebhooks(),
  'feed.readAccounts': ({ feed }) => feed.readAccounts([]),
  'feed.holdReader': ({ feed }) => feed.holdReader('reader', 'a', 1000),
  'feed.save': ({ feed }) => feed.save(batchOf({ name: 'reader', fence: 0 })),
  'feed.listReaders': ({ feed }) => feed.listReaders(''),
  'feed.findReader': ({ feed }) => feed.findReader('reader'),
  'feed.releaseReaders': ({ feed }) => feed.releaseReaders('a'),
  'feed.removeReader': ({ feed }) => feed.removeReader('reader'),
  'feed.addDelivery': ({ feed }) => feed.addDelivery(deliveryOf(1)),
  'feed.updateDeliveries': ({ feed }) => feed.updateDeliveries([]),
  'feed.findDelivery': ({ feed }) => feed.findDelivery(idOf('dlv', 1)),
  'feed.listDeliveries': ({ feed }) => feed.listDeliveries({ webhook_id: idOf('whk', 1) }, WHOLE),
  'feed.listDue': ({ feed }) => feed.listDue(idOf('whk', 1), instant(0), 10),
  'feed.pendingOf': ({ feed }) => feed.pendingOf(idOf('whk', 1)),
  'feed.removeDeliveries': ({ feed }) => feed.removeDeliveries(idOf('whk', 1), null),
  'feed.listCounts': ({ feed }) => feed.listCounts({ series: 'series', from_ms: 0, to_ms: 1 }, 10),
  'feed.findNodes': ({ feed }) => feed.findNodes('tree', [{ level: 8, index: 0 }]),
  'feed.listCheckpoints': ({ feed }) => feed.listCheckpoints(0, 10),
  'feed.removeCounts': ({ feed }) => feed.removeCounts('series', 0),
}

export const LIFE_CASES: readonly StoreCase[] = [
  {
    title: 'refuses every call once it was closed',
    async run({ store, reopen }) {
      await store.openLog()
      for (const call of Object.values(CALLS)) await expect(call(store)).resolves.not.toThrow()
      await reopen()
      for (const [name, call] of Object.entries(CALLS)) {
        await expect(call(store), name).rejects.toThrow(StoreUnavailableError)
      }
      await store.ledger.release('a reservation')
    },
  },
  {
    title: 'finishes what was asked before it closes',
    async run({ store, reopen }) {
      const pen = await LogPen.of(store)
      const commit = pen.commit(createOf(decisionOf(1)))
      const reopened = await reopen()
      expect(await commit).toEqual({ written: 1, conflict: null })
      expect(await reopened.findDecision(idOf('dec', 1))).not.toBeNull()
    },
  },
  {
    title: 'makes a secret of 256 bits at its first use and keeps it',
    async run({ store, reopen }) {
      const [first, same, other] = await Promise.all([store.secret('a'), store.secret('a'), store.secret('b')])
      expect(first).toMatch(/^[A-Za-z0-9_-]{43}$/)
      expect(same).toBe(first)
      expect(other).not.toBe(first)
      const reopened = await reopen()
      expect([await reopened.secret('a'), await reopened.secret('b')]).toEqual([first, other])
    },
  },
  {
    title: 'answers a ping when it can write',
    async run({ store }) {
      await store.ping()
      await Promise.all([store.ping(), store.ping()])
    },
  },
]
