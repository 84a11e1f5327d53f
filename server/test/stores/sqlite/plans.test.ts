import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AccountFilter } from '#server/ports/store/accounts'
import type { AuditFilter } from '#server/ports/store/audit'
import type { DecisionFilter } from '#server/ports/store/decisions'
import { Connection, type SqlValue } from '#server/stores/sqlite/driver'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { listAccounts, readAccounts } from '#server/stores/sqlite/tables/accounts'
import {
  findAgent,
  findAgentMetadata,
  listAgents,
  listWrittenAgents,
  loadAgents,
} from '#server/stores/sqlite/tables/agents'
import { listAuditEntries, listLogs, nextLogIndex, readLog } from '#server/stores/sqlite/tables/audit-entries'
import { listCounts, removeCounts } from '#server/stores/sqlite/tables/counts'
import {
  findDecision,
  listDecisions,
  listOpenReviews,
  listOverdue,
  measureReviews,
  readPostings,
} from '#server/stores/sqlite/tables/decisions'
import {
  findDelivery,
  listDeliveries,
  listDue,
  pendingOf,
  removeDeliveries,
  updateDeliveries,
} from '#server/stores/sqlite/tables/deliveries'
import { listHeldRequests } from '#server/stores/sqlite/tables/held-requests'
import { findIdempotency } from '#server/stores/sqlite/tables/idempotency'
import {
  findPolicyRevision,
  listPolicies,
  listPolicyRevisions,
  loadPoliciesOfSet,
} from '#server/stores/sqlite/tables/policies'
import { findHeldReader, findReader, listReaders, saveReader } from '#server/stores/sqlite/tables/readers'
import { findNodes, listCheckpoints } from '#server/stores/sqlite/tables/trees'
import { walkRows } from '#server/stores/sqlite/walk-rows'
import { accountOf, deliveryOf, idempotencyOf, idOf, instant, WHOLE } from '../../store-suite/index.js'

describe('the plans of the embedded store', () => {
  let dataDir: string
  let db: Connection

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'countersign-store-'))
    await (await openSqliteStore({ dataDir })).close()
    db = Connection.open(join(dataDir, 'countersign.db'))
  })
  afterAll(() => {
    db.close()
    rmSync(dataDir, { recursive: true })
  })

  /** What SQLite would do for each statement that `read` runs. */
  async function plansOf(read: (db: Connection) => unknown): Promise<readonly string[]> {
    const plans: string[] = []
    const explain = (sql: string, values: readonly SqlValue[]) => {
      const steps = db.all(`EXPLAIN QUERY PLAN ${sql}`, ...values)
      plans.push(steps.map(({ detail }) => detail).join('; '))
    }
    const watched = new Proxy(db, {
      get(target, member) {
        if (member === 'snapshot' || member === 'transaction') return (work: () => unknown) => work()
        return (sql: string, ...values: SqlValue[]) => {
          explain(sql, values)
          return target[member as 'get' | 'all' | 'run'](sql, ...values)
        }
      },
    })
    await read(watched)
    expect(plans.length).toBeGreaterThan(0)
    return plans
  }

  /** Every statement goes down one index, in its order: no table is walked and nothing is sorted. */
  async function expectIndexed(read: (db: Connection) => unknown, search: string): Promise<void> {
    for (const plan of await plansOf(read)) {
      expect(plan).toContain(search)
      expect(plan).not.toMatch(/SCAN|TEMP B-TREE/)
    }
  }

  const TIME = '(at_ms,id)>(?,?) AND (at_ms,id)<(?,?)'
  const decisions: readonly (readonly [Partial<DecisionFilter>, string])[] = [
    [{}, `decisions_by_time (${TIME})`],
    [{ from: instant(0), to: instant(9) }, `decisions_by_time (${TIME})`],
    [{ effect: 'deny' }, `decisions_by_time (${TIME})`],
    [{ agents: ['billing-*'] }, `decisions_by_time (${TIME})`],
    [{ agent_id: 'a' }, `decisions_by_agent (agent_id=? AND ${TIME})`],
    [{ agent_id: 'a', from: instant(0), to: instant(9) }, `decisions_by_agent (agent_id=? AND ${TIME})`],
    [{ action: 'a' }, `decisions_by_action (action=? AND ${TIME})`],
    [{ policy_id: 'a' }, `decisions_by_policy (policy_id=? AND ${TIME})`],
    [{ request_hash: 'a' }, `decisions_by_request_hash (request_hash=? AND ${TIME})`],
    [{ trace_id: 'a' }, `decisions_by_trace (trace_id=? AND ${TIME})`],
    [{ trace_id: 'a', agent_id: 'a', agents: ['*'] }, `decisions_by_trace (trace_id=? AND ${TIME})`],
    [{ resource: 'a' }, `decisions_by_resource (resource=? AND ${TIME})`],
    [{ status: 'awaiting_review' }, `decisions_by_rare_status (status=? AND ${TIME})`],
    [{ status: 'approved' }, `decisions_by_rare_status (status=? AND ${TIME})`],
    [{ status: 'declined' }, `decisions_by_rare_status (status=? AND ${TIME})`],
    [{ status: 'confirmed' }, `decisions_by_rare_status (status=? AND ${TIME})`],
    [{ status: 'rejected' }, `decisions_by_rare_status (status=? AND ${TIME})`],
    [{ status: 'authorized' }, `decisions_by_time (${TIME})`],
    [{ status: 'denied' }, `decisions_by_time (${TIME})`],
    [{ status: 'expired' }, `decisions_by_time (${TIME})`],
    [{ status: 'expired', agent_id: 'a' }, `decisions_by_agent (agent_id=? AND ${TIME})`],
    [{ action: 'a', agent_id: 'a', resource: 'a' }, `decisions_by_resource (resource=? AND ${TIME})`],
  ]
  it.each(decisions)('list decisions by %j from one index', async (filter, search) => {
    const whole = { agents: null, now: instant(0), ...filter }
    await expectIndexed((watched) => listDecisions(watched, whole, WHOLE), search)
  })

  it.each([
    [{}, 'decisions_by_time ((at_ms,id)>(?,?) AND at_ms<?)'],
    [{ agent_id: 'a' }, 'decisions_by_agent (agent_id=? AND (at_ms,id)>(?,?) AND at_ms<?)'],
  ])('list held requests by %j from one index', async (filter, search) => {
    await expectIndexed((watched) => listHeldRequests(watched, filter, WHOLE), search)
  })

  const entries: readonly (readonly [AuditFilter, string])[] = [
    [{}, `audit_entries_by_time (${TIME})`],
    [{ from: instant(0), to: instant(9) }, `audit_entries_by_time (${TIME})`],
    [{ subject: 'a' }, `audit_entries_by_subject (subject=? AND ${TIME})`],
    [{ agent_id: 'a' }, `audit_entries_by_agent (agent_id=? AND ${TIME})`],
    [{ type: 'a' }, `audit_entries_by_type (type=? AND ${TIME})`],
    [{ type: 'a', subject: 'a', agent_id: 'a' }, `audit_entries_by_subject (subject=? AND ${TIME})`],
  ]
  it.each(entries)('list audit entries by %j from one index', async (filter, search) => {
    await expectIndexed((watched) => listAuditEntries(watched, filter, WHOLE), search)
  })

  const SEQ = 'rowid>? AND rowid<?'
  const form = { policy_id: 'a', unit: 'eur', period: 'total', starts_at: null } as const
  const accounts: readonly (readonly [Partial<AccountFilter>, string])[] = [
    [{}, `INTEGER PRIMARY KEY (${SEQ})`],
    [{ unit: 'eur', period: 'daily', scope: 'agent' }, `INTEGER PRIMARY KEY (${SEQ})`],
    [{ agents: ['billing-*'] }, `INTEGER PRIMARY KEY (${SEQ})`],
    [{ policy_id: 'a' }, `accounts_by_policy (policy_id=? AND ${SEQ})`],
    [{ policy_id: 'a', starts_at: null }, `accounts_by_policy (policy_id=? AND ${SEQ})`],
    [form, `accounts_by_start (policy_id=? AND unit=? AND period=? AND starts_at=? AND ${SEQ})`],
    [
      { ...form, scope: 'agent', agents: ['*'] },
      `accounts_by_start (policy_id=? AND unit=? AND period=? AND starts_at=? AND ${SEQ})`,
    ],
    [{ is_reserved: true }, 'accounts_reserved (seq>? AND seq<?)'],
    [{ policy_id: 'a', is_reserved: true }, 'accounts_reserved (seq>? AND seq<?)'],
  ]
  it.each(accounts)('list accounts by %j from one index', async (filter, search) => {
    await expectIndexed((watched) => listAccounts(watched, { agents: null, ...filter }, WHOLE), search)
  })

  const name = idempotencyOf('')
  const others: readonly (readonly [string, (db: Connection) => unknown, string])[] = [
    [
      'a decision',
      (on) => findDecision(on, idOf('dec', 1)),
      'decisions USING INDEX sqlite_autoindex_decisions_1 (id=?)',
    ],
    ['open reviews', (on) => listOpenReviews(on, instant(0)), 'decisions_awaiting_review (expires_ms>?)'],
    ['the number of open reviews and the oldest', (on) => measureReviews(on, instant(0)), 'SEARCH decisions USING '],
    [
      'overdue decisions',
      (on) => listOverdue(on, 'authorized', instant(0), { limit: 5, after: null }),
      'decisions_authorized (expires_ms>? AND expires_ms<?)',
    ],
    [
      'overdue reviews',
      (on) => listOverdue(on, 'awaiting_review', instant(0), { limit: 5, after: null }),
      'decisions_awaiting_review (exp',
    ],
    [
      'overdue approvals',
      (on) => listOverdue(on, 'approved', instant(0), { limit: 5, after: null }),
      'decisions_approved (expires_ms>? AND expires_ms<?)',
    ],
    ['postings', (on) => readPostings(on, idOf('dec', 1)), 'decisions USING INDEX sqlite_autoindex_decisions_1 (id=?)'],
    [
      'accounts',
      (on) => readAccounts(on, [accountOf()]),
      '(policy_id=? AND unit=? AND period=? AND starts_at=? AND agent_id=?)',
    ],
    ['policies of a set', (on) => loadPoliciesOfSet(on, 5), 'policies_by_set (until_set>?)'],
    ['a page of policies', (on) => listPolicies(on, WHOLE), 'policies_live_by_id (id<?)'],
    ['revisions', (on) => listPolicyRevisions(on, 'pol_1', WHOLE), '(id=? AND version<?)'],
    ['an agent', (on) => findAgent(on, 'a'), 'agents USING INDEX sqlite_autoindex_agents_1 (id=?)'],
    ['metadata', (on) => findAgentMetadata(on, 'a', 1), '(agent_id=? AND revision=?)'],
    ['a page of written agents', (on) => listWrittenAgents(on, WHOLE), 'agents_written (id>?)'],
    ['a page of agents', (on) => listAgents(on, ['a*'], WHOLE), `agents_by_time (${TIME})`],
    ['an idempotency record', (on) => findIdempotency(on, name, instant(0)), '(key_id=? AND operation=? AND key=?)'],
    ['the entries of a log', (on) => readLog(on, 'log', 7, 10, 1000), '(log=? AND log_index=?)'],
    ['the end of the log', (on) => nextLogIndex(on, 'log'), '(log=?)'],
    ['the logs', listLogs, 'sqlite_autoindex_audit_entries_1 (log>?)'],
    ['a revision', (on) => findPolicyRevision(on, 'pol_1', 1), '(id=? AND version=?)'],
    ['a reader', (on) => findReader(on, 'reader'), 'PRIMARY KEY (name=?)'],
    ['a reader to hold', (on) => findHeldReader(on, 'reader'), 'PRIMARY KEY (name=?)'],
    [
      'a reader to save',
      (on) => saveReader(on, { reader: { name: 'reader', fence: 1 }, positions: {}, state: {} }),
      'PRIMARY KEY (name=?)',
    ],
    ['readers', (on) => listReaders(on, 'webhook/'), 'PRIMARY KEY (name>?)'],
    ['a delivery', (on) => findDelivery(on, 'dlv'), 'sqlite_autoindex_deliveries_1 (id=?)'],
    ['a delivery to write', (on) => updateDeliveries(on, [deliveryOf(1)]), 'sqlite_autoindex_deliveries_1 (id=?)'],
    [
      'deliveries',
      (on) => listDeliveries(on, { webhook_id: 'whk' }, WHOLE),
      `deliveries_by_webhook (webhook_id=? AND ${TIME})`,
    ],
    [
      'deliveries that are delivered',
      (on) => listDeliveries(on, { webhook_id: 'whk', status: 'delivered' }, WHOLE),
      `deliveries_by_webhook (webhook_id=? AND ${TIME})`,
    ],
    [
      'deliveries that failed',
      (on) => listDeliveries(on, { webhook_id: 'whk', status: 'failed' }, WHOLE),
      `deliveries_undelivered (webhook_id=? AND status=? AND ${TIME})`,
    ],
    [
      'due deliveries',
      (on) => listDue(on, 'whk', instant(0), 5),
      'deliveries_due (webhook_id=? AND (next_ms,id)>(?,?) AND next_ms<?)',
    ],
    ['the next attempt and the oldest event', (on) => pendingOf(on, 'whk'), '(webhook_id=?'],
    [
      'counts',
      (on) => listCounts(on, { series: 'series', from_ms: 0, to_ms: 9 }, 5),
      'counts_by_start (series=? AND starts_ms>? AND starts_ms<?)',
    ],
    [
      'nodes of a tree',
      (on) => findNodes(on, 'root', [{ level: 8, index: 1 }]),
      'PRIMARY KEY (tree=? AND level=? AND node_index=?)',
    ],
    ['checkpoints', (on) => listCheckpoints(on, 1, 5), 'INTEGER PRIMARY KEY (rowid>?)'],
  ]
  it.each(others)('find %s by an index', async (_, read, search) => {
    await expectIndexed(read, search)
  })

  it.each([
    ['decisions', 'SEARCH decisions USING INTEGER PRIMARY KEY (rowid>?)'],
    ['sightings', 'SEARCH sightings USING PRIMARY KEY (agent_id>?)'],
  ])('walks through all rows of %s without passing any twice', async (table, search) => {
    db.execute('BEGIN')
    const insert = {
      sightings: "INSERT INTO sightings SELECT 'agent:' || value, 't', 't' FROM generate_series(1, 1200)",
      decisions: `INSERT INTO decisions (id, version, at_ms, status, expires_ms, agent_id, action, effect, policy_id, request_hash,
        document) SELECT 'd' || value, 1, 1, 's', 1, 'a', 'a', 'e', 'p', 'h', '{}' FROM generate_series(1, 1200)`,
    }[table] as string
    db.execute(
      insert.replace(
        'generate_series(1, 1200)',
        '(WITH RECURSIVE n (value) AS (VALUES (1) UNION ALL SELECT value + 1 FROM n WHERE value < 1200) SELECT value FROM n)',
      ),
    )
    const keys = new Set<unknown>()
    const plans = await plansOf((watched) => {
      for (const { walk_key } of walkRows(watched, table, '1')) keys.add(walk_key)
    })
    db.execute('ROLLBACK')
    expect(keys.size).toBe(1200)
    expect(plans.filter((plan) => plan.includes(search))).toHaveLength(2)
    expect(plans.filter((plan) => /TEMP B-TREE/.test(plan))).toEqual([])
  })

  it('remove the oldest deliveries and counts by the index of their times', async () => {
    const [deliveries] = await plansOf((on) => removeDeliveries(on, 'whk', instant(0)))
    expect(deliveries).toContain('deliveries_by_webhook (webhook_id=? AND at_ms<?)')
    const [counts] = await plansOf((on) => removeCounts(on, 'series', 0))
    expect(counts).toContain('counts_by_start (series=? AND starts_ms<?)')
    for (const plan of [deliveries, counts]) expect(plan).not.toMatch(/SCAN|TEMP B-TREE/)
  })

  it('load the written agents from an index that holds no other', async () => {
    expect(await plansOf(loadAgents)).toEqual([expect.stringMatching(/^SCAN agents USING INDEX agents_written;/)])
  })
})
