/** Every list and every scan of the store has an index: what is equal first, then the order. */

import type { Collection, Document } from 'mongodb'
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '#server/ports/store/store'
import { Database } from '#server/stores/mongodb/connection/database'
import { INDEXES } from '#server/stores/mongodb/indexes'
import { MongoStore } from '#server/stores/mongodb/mongo-store'
import { openMongoStore } from '#server/stores/mongodb/open'
import {
  accountOf,
  deliveryOf,
  idempotencyOf,
  idOf,
  instant,
  keyOf,
  LogPen,
  writeKeyOf,
} from '../../store-suite/index.js'
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
  'decisions of all': (store) => store.decisions.list(none, PAGE),
  'decisions, a later page': (store) => store.decisions.list({ ...none, from: instant(0), to: instant(9) }, LATER),
  'decisions of an agent': (store) => store.decisions.list({ ...none, agent_id: 'a' }, PAGE),
  'decisions of an action': (store) => store.decisions.list({ ...none, action: 'a' }, LATER),
  'decisions of a resource': (store) => store.decisions.list({ ...none, resource: 'a' }, PAGE),
  'decisions of a policy': (store) => store.decisions.list({ ...none, policy_id: 'a' }, PAGE),
  'decisions of a request': (store) => store.decisions.list({ ...none, request_hash: 'a' }, PAGE),
  'decisions of a trace': (store) => store.decisions.list({ ...none, trace_id: 'a' }, LATER),
  'decisions of a status': (store) => store.decisions.list({ ...none, status: 'approved' }, LATER),
  'open reviews': (store) => store.decisions.listOpenReviews(instant(0)),
  'the measured reviews': (store) => store.decisions.measureReviews(instant(0)),
  'review slots': (store) => store.replicas.reviewSlots.clear('agent a', instant(0)),
  'overdue decisions': (store) => store.decisions.listOverdue('authorized', instant(0), LATER),
  'the first end of an approval': (store) => store.decisions.firstApprovalEnd(),
  'closed decisions': (store) =>
    store.decisions.listClosed({ evaluated_before: instant(0), ended_before: instant(0) }, PAGE),
  'held requests of all': (store) => store.decisions.listHeldRequests({ evaluated_before: instant(0) }, PAGE),
  'held requests of an agent, a later page': (store) => store.decisions.listHeldRequests({ agent_id: 'a' }, LATER),
  'decisions to be removed': (store) => store.decisions.remove([{ id: idOf('dec', 1), version: 1 }], instant(0)),
  'accounts of all': (store) => store.accounts.list({ agents: null }, PAGE),
  'accounts of a policy': (store) => store.accounts.list({ agents: null, policy_id: 'a' }, PAGE),
  'accounts in which something is reserved': (store) => store.accounts.list({ agents: null, is_reserved: true }, PAGE),
  'accounts of a budget in a period': (store) => {
    const { policy_id, unit, period, starts_at } = accountOf()
    return store.accounts.list({ agents: null, policy_id, unit, period, starts_at }, PAGE)
  },
  'policies of a set': (store) => store.policies.loadSet(3),
  'revisions of a policy': (store) => store.policies.listRevisions(idOf('pol', 1), PAGE),
  'agents that are held': (store) => store.agents.load(),
  'agents that were written': (store) => store.agents.listWritten(PAGE),
  'agents of all': (store) => store.agents.list(null, LATER),
  'keys of a secret': async (store) => (await LogPen.of(store)).commit(writeKeyOf(keyOf(1))),
  'idempotency records that are over': (store) => store.idempotency.purge(instant(0)),
  'entries of all': (store) => store.audit.list({}, LATER),
  'entries of a subject': (store) => store.audit.list({ subject: 'a' }, PAGE),
  'entries of an agent': (store) => store.audit.list({ agent_id: 'a' }, LATER),
  'entries of a type': (store) => store.audit.list({ type: 'a' }, PAGE),
  'entries of a log, forward': (store) => store.audit.read('log', 3, 10),
  'the ends of logs': async (store) => {
    await (await LogPen.of(store)).commit({ kind: 'entry.only' })
    await store.audit.listLogs()
  },
  'a revision of a policy': (store) => store.policies.getRevision(idOf('pol', 1), 1),
  'a reader': (store) => store.readers.hold('reader', 'holder', 0),
  readers: (store) => store.readers.list('webhook/'),
  'deliveries of a webhook': (store) => store.deliveries.list({ webhook_id: 'a' }, LATER),
  'deliveries of a status': (store) => store.deliveries.list({ webhook_id: 'a', status: 'failed' }, PAGE),
  'deliveries that are due': (store) => store.deliveries.listDue('a', instant(0), 10),
  'the next attempt and the oldest event': (store) => store.deliveries.pendingOf('a'),
  'deliveries to be removed': (store) => store.deliveries.remove('a', instant(0)),
  'deliveries that others wrote': (store) => store.deliveries.update([deliveryOf(1, { version: 2 })]),
  counts: (store) => store.counts.list({ series: 'a', from_ms: 0, to_ms: 9 }, 10),
  'nodes of a tree': (store) => store.trees.getNodes('a', [{ level: 8, index: 1 }]),
  checkpoints: (store) => store.trees.listCheckpoints(1, 10),
  'counts to be removed': (store) => store.counts.remove('a', 9),
  'an idempotency record': (store) => store.idempotency.get(idempotencyOf('x'), instant(0)),
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
