/** Every list and every scan of the store has an index: what is equal first, then the order. */
import type { Store } from '@countersign/store-port/store'
import {
  accountOf,
  deliveryOf,
  idempotencyOf,
  idOf,
  instant,
  keyOf,
  LogPen,
  writeKeyOf,
} from '@countersign/testkit/store-suite'
import type { Collection, Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Database } from '#store-mongodb/connection/database'
import { INDEXES } from '#store-mongodb/indexes'
import { MongoStore } from '#store-mongodb/mongo-store'
import { openMongoStore } from '#store-mongodb/open'
import { dropDatabase, mongoUrl } from './open-mongo-store.js'

interface Query {
  readonly collection: string
  readonly filter: Document
  readonly sort: Document
}

const NAME = `countersign-indexes-${process.pid}`
const PAGE = { limit: 10, after: null }
const LATER = { limit: 10, after: '1795255200000/x' }
const none = { agents: null, now: instant(0) }

/** What of the port reads more than documents by their ids. */
const CALLS: Readonly<Record<string, (store: Store & MongoStore) => Promise<unknown>>> = {
  'decisions of all': (store) => store.listDecisions(none, PAGE),
  'decisions, a later page': (store) => store.listDecisions({ ...none, from: instant(0), to: instant(9) }, LATER),
  'decisions of an agent': (store) => store.listDecisions({ ...none, agent_id: 'a' }, PAGE),
  'decisions of an action': (store) => store.listDecisions({ ...none, action: 'a' }, LATER),
  'decisions of a resource': (store) => store.listDecisions({ ...none, resource: 'a' }, PAGE),
  'decisions of a policy': (store) => store.listDecisions({ ...none, policy_id: 'a' }, PAGE),
  'decisions of a request': (store) => store.listDecisions({ ...none, request_hash: 'a' }, PAGE),
  'decisions of a status': (store) => store.listDecisions({ ...none, status: 'approved' }, LATER),
  'open reviews': (store) => store.listOpenReviews(instant(0)),
  'review slots': (store) => store.replicas.reviewSlots.clear('agent a', instant(0)),
  'overdue decisions': (store) => store.listOverdue('authorized', instant(0), 5),
  'the first end of an approval': (store) => store.firstApprovalEnd(),
  'closed decisions': (store) => store.listClosed({ evaluated_before: instant(0), ended_before: instant(0) }, PAGE),
  'held requests of all': (store) => store.listHeldRequests({ evaluated_before: instant(0) }, PAGE),
  'held requests of an agent, a later page': (store) => store.listHeldRequests({ agent_id: 'a' }, LATER),
  'decisions to be removed': (store) => store.removeDecisions([{ id: idOf('dec', 1), version: 1 }], instant(0)),
  'accounts of all': (store) => store.listAccounts({ agents: null }, PAGE),
  'accounts of a policy': (store) => store.listAccounts({ agents: null, policy_id: 'a' }, PAGE),
  'accounts in which something is reserved': (store) => store.listAccounts({ agents: null, is_reserved: true }, PAGE),
  'accounts of a budget in a period': (store) => {
    const { policy_id, unit, period, starts_at } = accountOf()
    return store.listAccounts({ agents: null, policy_id, unit, period, starts_at }, PAGE)
  },
  'policies of a set': (store) => store.loadPoliciesOfSet(3),
  'revisions of a policy': (store) => store.listPolicyRevisions(idOf('pol', 1), PAGE),
  'agents that are held': (store) => store.loadAgents(),
  'agents of all': (store) => store.listAgents(null, LATER),
  'keys of a secret': async (store) => (await LogPen.of(store)).commit(writeKeyOf(keyOf(1))),
  'idempotency records that are over': (store) => store.purgeIdempotency(instant(0)),
  'entries of all': (store) => store.listAuditEntries({}, LATER),
  'entries of a subject': (store) => store.listAuditEntries({ subject: 'a' }, PAGE),
  'entries of an agent': (store) => store.listAuditEntries({ agent_id: 'a' }, LATER),
  'entries of a type': (store) => store.listAuditEntries({ type: 'a' }, PAGE),
  'entries of a log, forward': (store) => store.readLog('log', 3, 10),
  'the ends of logs': async (store) => {
    await (await LogPen.of(store)).commit({ kind: 'entry.only' })
    await store.feed.listLogs()
  },
  'a revision of a policy': (store) => store.feed.findPolicyRevision(idOf('pol', 1), 1),
  'a reader': (store) => store.feed.holdReader('reader', 'holder', 0),
  readers: (store) => store.feed.listReaders('webhook/'),
  'deliveries of a webhook': (store) => store.feed.listDeliveries({ webhook_id: 'a' }, LATER),
  'deliveries of a status': (store) => store.feed.listDeliveries({ webhook_id: 'a', status: 'failed' }, PAGE),
  'deliveries that are due': (store) => store.feed.listDue('a', instant(0), 10),
  'the next attempt and the oldest event': (store) => store.feed.pendingOf('a'),
  'deliveries to be removed': (store) => store.feed.removeDeliveries('a', instant(0)),
  'deliveries that others wrote': (store) => store.feed.updateDeliveries([deliveryOf(1, { version: 2 })]),
  counts: (store) => store.feed.listCounts({ series: 'a', from_ms: 0, to_ms: 9 }, 10),
  'nodes of a tree': (store) => store.feed.findNodes('a', [{ level: 8, index: 1 }]),
  checkpoints: (store) => store.feed.listCheckpoints(1, 10),
  'counts to be removed': (store) => store.feed.removeCounts('a', 9),
  'an idempotency record': (store) => store.findIdempotency(idempotencyOf('x'), instant(0)),
  'what was left behind': (store) => store.recover(0),
}

/** Collections that hold a document or two for each process. */
const SMALL = new Set(['logs', 'leases'])

const seen: Query[] = []
let store: MongoStore
let canExplain: boolean
const client = new MongoClient(mongoUrl(NAME))

beforeAll(async () => {
  await (await openMongoStore({ url: mongoUrl(NAME) })).close()
  const database = await Database.open(mongoUrl(NAME))
  for (const [name, member] of Object.entries(database)) watch(database, name, member as Collection)
  store = new MongoStore(database, Date.now)
  canExplain = (await client.db('admin').command({ isMaster: 1 })).setName !== undefined
})
afterAll(async () => {
  await store.close()
  await client.close()
  await dropDatabase(NAME)
})

function watch(database: Database, name: string, own: Collection): void {
  const note = (filter: Document, sort: Document) => seen.push({ collection: own.collectionName, filter, sort })
  const proxy = new Proxy(own, {
    get(target, member) {
      if (member === 'find')
        return (filter: Document = {}) => {
          const cursor = target.find(filter)
          const sort = cursor.sort.bind(cursor)
          let order: Document = {}
          cursor.sort = (given) => {
            order = given as Document
            return sort(given)
          }
          const toArray = cursor.toArray.bind(cursor)
          cursor.toArray = () => {
            note(filter, order)
            return toArray()
          }
          return cursor
        }
      if (member === 'findOne')
        return (filter: Document = {}, options: { sort?: Document } = {}) => {
          note(filter, options.sort ?? {})
          return target.findOne(filter, options)
        }
      const value: unknown = Reflect.get(target, member)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  Object.assign(database, { [name]: proxy })
}

/** The members that a filter wants to be equal to something, and those that it wants in a range. */
function membersOf(filter: Document): { readonly equal: Set<string>; readonly ranged: Set<string> } {
  const equal = new Set<string>()
  const ranged = new Set<string>()
  for (const part of [filter, ...(filter.$and ?? [])])
    for (const [member, wanted] of Object.entries(part as Document)) {
      if (member.startsWith('$')) continue
      const isObject = typeof wanted === 'object' && wanted !== null
      if (!isObject || '$eq' in wanted || '$in' in wanted) equal.add(member)
      else ranged.add(member)
    }
  return { equal, ranged }
}

/** Some index begins with members that are equal, goes on in the order of the answer, and narrows the walk at all. */
function isCovered({ collection, filter, sort }: Query): boolean {
  const { equal, ranged } = membersOf(filter)
  if (equal.has('_id')) return true
  const order = Object.keys(sort)
  return [{ key: { _id: 1 } }, ...(INDEXES[collection] ?? [])].some(({ key }) => {
    const members = Object.keys(key as Document)
    const prefix = members.findIndex((member) => !equal.has(member))
    const rest = prefix === -1 ? [] : members.slice(prefix)
    const isOrdered = order.every((member, i) => rest[i] === member)
    return isOrdered && (prefix !== 0 || order.length > 0 || ranged.has(members[0] as string))
  })
}

it.each(Object.entries(CALLS))('%s are found by an index', async (_, call) => {
  seen.length = 0
  await call(store)
  const queries = seen.filter(({ collection }) => !SMALL.has(collection))
  expect(queries.length).toBeGreaterThan(0)
  for (const query of queries) {
    expect(isCovered(query), JSON.stringify(query)).toBe(true)
    if (!canExplain) continue
    const { collection, filter, sort } = query
    const plan = await client.db(NAME).collection(collection).find(filter).sort(sort).explain('queryPlanner')
    expect(JSON.stringify(plan.queryPlanner.winningPlan)).not.toContain('COLLSCAN')
  }
})
