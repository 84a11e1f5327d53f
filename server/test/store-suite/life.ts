import { expect } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { Store } from '#server/ports/store/store'
import { accountOf, createOf, decisionOf, deliveryOf, idempotencyOf, idOf, instant, LogPen } from './documents.js'
import { batchOf } from './readers.js'
import { type CallOf, type StoreCase, WHOLE } from './store-case.js'

/** Every call of the port that can be refused. */
const CALLS: {
  readonly [Name in Exclude<CallOf<Store>, 'close' | 'ledger.release'>]: (store: Store) => Promise<unknown>
} = {
  commit: (store) => store.commit([]),
  openLog: (store) => store.openLog(),
  'audit.has': (store) => store.audit.has({ log: 'log', index: 0 }),
  'audit.read': (store) => store.audit.read('log', 0, 10),
  isRestored: (store) => store.isRestored(),
  leaveLogs: (store) => store.leaveLogs(),
  'decisions.get': (store) => store.decisions.get(idOf('dec', 1)),
  'decisions.getStatus': (store) => store.decisions.getStatus(idOf('dec', 1)),
  'decisions.list': (store) => store.decisions.list({ agents: null, now: instant(0) }, WHOLE),
  'decisions.listOpenReviews': (store) => store.decisions.listOpenReviews(instant(0)),
  'decisions.measureReviews': (store) => store.decisions.measureReviews(instant(0)),
  'decisions.listOverdue': (store) => store.decisions.listOverdue('authorized', instant(0), WHOLE),
  'decisions.firstApprovalEnd': (store) => store.decisions.firstApprovalEnd(),
  'decisions.listClosed': (store) =>
    store.decisions.listClosed({ evaluated_before: instant(0), ended_before: instant(0) }, WHOLE),
  'decisions.remove': (store) => store.decisions.remove([{ id: idOf('dec', 1), version: 1 }], instant(0)),
  'decisions.listHeldRequests': (store) => store.decisions.listHeldRequests({}, WHOLE),
  wipe: (store) => store.wipe(),
  'accounts.list': (store) => store.accounts.list({ agents: null }, WHOLE),
  'accounts.get': (store) => store.accounts.get([]),
  'policies.load': (store) => store.policies.load(),
  'policies.loadSet': (store) => store.policies.loadSet(1),
  'policies.list': (store) => store.policies.list(WHOLE),
  'policies.listRevisions': (store) => store.policies.listRevisions(idOf('pol', 1), WHOLE),
  'agents.load': (store) => store.agents.load(),
  'agents.get': (store) => store.agents.get('agent:1'),
  'agents.listWritten': (store) => store.agents.listWritten(WHOLE),
  'agents.list': (store) => store.agents.list(null, WHOLE),
  'agents.getMetadata': (store) => store.agents.getMetadata('agent:1', 1),
  'keys.load': (store) => store.keys.load(),
  'keys.loadUses': (store) => store.keys.loadUses(),
  'keys.saveUses': (store) => store.keys.saveUses(new Map()),
  'webhooks.load': (store) => store.webhooks.load(),
  'idempotency.get': (store) => store.idempotency.get(idempotencyOf(''), instant(0)),
  'idempotency.purge': (store) => store.idempotency.purge(instant(0)),
  'audit.list': (store) => store.audit.list({}, WHOLE),
  secret: (store) => store.secret('cursors'),
  ping: (store) => store.ping(),
  wasWrittenByOthers: (store) => store.wasWrittenByOthers?.() ?? store.ping(),
  'ledger.reserve': (store) =>
    store.ledger.reserve({
      decision_id: idOf('dec', 1),
      version: 0,
      demands: [{ account: accountOf(), amount: 0n, limit: null }],
    }),
  'ledger.balances': (store) => store.ledger.balances([accountOf()]),
  'audit.listLogs': (store) => store.audit.listLogs(),
  'policies.getRevision': (store) => store.policies.getRevision(idOf('pol', 1), 1),
  'readers.hold': (store) => store.readers.hold('reader', 'a', 1000),
  'readers.save': (store) => store.readers.save(batchOf({ name: 'reader', fence: 0 })),
  'readers.list': (store) => store.readers.list(''),
  'readers.get': (store) => store.readers.get('reader'),
  'readers.release': (store) => store.readers.release('a'),
  'readers.remove': (store) => store.readers.remove('reader'),
  'deliveries.add': (store) => store.deliveries.add(deliveryOf(1)),
  'deliveries.update': (store) => store.deliveries.update([]),
  'deliveries.get': (store) => store.deliveries.get(idOf('dlv', 1)),
  'deliveries.list': (store) => store.deliveries.list({ webhook_id: idOf('whk', 1) }, WHOLE),
  'deliveries.listDue': (store) => store.deliveries.listDue(idOf('whk', 1), instant(0), 10),
  'deliveries.pendingOf': (store) => store.deliveries.pendingOf(idOf('whk', 1)),
  'deliveries.remove': (store) => store.deliveries.remove(idOf('whk', 1), null),
  'counts.list': (store) => store.counts.list({ series: 'series', from_ms: 0, to_ms: 1 }, 10),
  'trees.getNodes': (store) => store.trees.getNodes('tree', [{ level: 8, index: 0 }]),
  'trees.listCheckpoints': (store) => store.trees.listCheckpoints(0, 10),
  'counts.remove': (store) => store.counts.remove('series', 0),
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
      expect(await reopened.decisions.get(idOf('dec', 1))).not.toBeNull()
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
