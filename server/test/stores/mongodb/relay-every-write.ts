/** Every kind of write that the store makes, made at least once: also those of processes that finish what others left. */

import { until } from '@countersign/testkit'
import { expect } from 'vitest'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { HeldReader } from '#server/ports/store/feed'
import type { Change } from '#server/ports/store/store'
import { Database } from '#server/stores/mongodb/connection/database'
import { MongoStore } from '#server/stores/mongodb/mongo-store'
import { openMongoStore } from '#server/stores/mongodb/open'
import {
  accountOf,
  agentOf,
  createOf,
  DAY,
  decisionOf,
  deliveryOf,
  eraseOf,
  heldIn,
  idempotencyOf,
  idOf,
  instant,
  keyOf,
  LogPen,
  policyOf,
  requestOf,
  reviewOf,
  spentIn,
  updateOf,
  walk,
  webhookOf,
  writeAgentOf,
  writeKeyOf,
  writePolicyOf,
  writeWebhookOf,
} from '../../store-suite/index.js'
import type { Command, Fate } from './relay.js'
import { openRelay } from './relay.js'
import type { Cuts } from './relay-cuts.js'
import { isWrite } from './relay-writes.js'

/** The kinds by name, as `WriteNames` tells them. */
export const EVERY_WRITE: readonly string[] = [
  'createIndexes accounts',
  'createIndexes agents',
  'createIndexes audit',
  'createIndexes claims',
  'createIndexes counts',
  'createIndexes decisions',
  'createIndexes deliveries',
  'createIndexes policies',
  'createIndexes retired_keys',
  'createIndexes review_places',
  'delete claims',
  'delete counts',
  'delete decisions',
  'delete deliveries',
  'delete readers',
  'delete replicas: leaves',
  'delete replicas: long gone',
  'delete review_places',
  'insert agent_revisions',
  'insert agents: new',
  'insert agents: seen',
  'insert agents: tombstone',
  'insert audit: entry',
  'insert audit: void',
  'insert claims',
  'insert decisions: new',
  'insert decisions: tombstone',
  'insert deliveries',
  'insert key_directory',
  'insert leases',
  'insert log_checkpoints',
  'insert logs',
  'insert meta',
  'insert policies',
  'insert policy_directory',
  'insert readers',
  'insert retired_keys',
  'insert secrets',
  'insert signing_keys',
  'insert tree_nodes',
  'insert webhook_directory',
  'update accounts: given back',
  'update accounts: marks dropped',
  'update accounts: reserved',
  'update accounts: settled',
  'update agents: fence',
  'update agents: seen',
  'update agents: written',
  'update claims: erased',
  'update claims: replaced',
  'update counts',
  'update decisions: booked',
  'update decisions: booked, by recovery',
  'update decisions: erasure finished',
  'update decisions: fence',
  'update decisions: move',
  'update decisions: move, erased',
  'update decisions: settled, by recovery',
  'update deliveries: waits again',
  'update deliveries: waits no more',
  'update key_directory: fence',
  'update key_directory: written',
  'update key_uses',
  'update leases',
  'update logs: finished',
  'update logs: given up',
  'update logs: intents',
  'update logs: renewed',
  'update logs: settled',
  'update logs: taken over',
  'update meta',
  'update policies',
  'update policy_directory: fence',
  'update policy_directory: written',
  'update readers: held',
  'update readers: released',
  'update readers: saved',
  'update replicas',
  'update retired_keys',
  'update review_places: released',
  'update review_places: taken',
  'update sightings',
  'update signals',
  'update signing_keys',
  'update touches: key set read',
  'update touches: ping',
  'update webhook_directory: fence',
  'update webhook_directory: written',
]

/** What a process books that finishes a group is not left to recovery. */
const BY_RECOVERY = ['update decisions: settled, by recovery', 'update decisions: booked, by recovery']

/** A process that is so far ahead takes all others for dead. */
const FAR_AHEAD_MS = 120_000
const ACCOUNT = accountOf()
const PRIMARIES = new Set(['decisions', 'agents', 'policy_directory', 'key_directory', 'webhook_directory'])
const KEY = { kid: 'kid-1', x: 'x', published_until: instant(DAY), revoked_at: null }

/** When a process dies, by the write that it is about to send. */
type Death = (command: Command) => boolean

/** On a database of its own. @param url of that database */
export async function makeEveryWrite(cuts: Cuts, url: string): Promise<void> {
  const relay = await openRelay(url, cuts.fateOf)
  const store = await openMongoStore({ url: relay.hurriedUrl })
  try {
    await makeCommonWrites(store)
    await makeFeedWrites(store)
    await dieBefore(cuts, url)
    await recover(relay.hurriedUrl)
    await dieBehind(cuts, url, 12, [
      updateOf(reviewOf(2), { status: 'approved', postings: [] }),
      writePolicyOf(policyOf(3, 3)),
      writeKeyOf(keyOf(3)),
      writeWebhookOf(webhookOf(3)),
      writeAgentOf(agentOf('agent:3')),
    ])
    await recover(relay.hurriedUrl)
    // What a process settles that finishes a group may be booked before it is recovered.
    let number = 13
    for (; !BY_RECOVERY.every((name) => cuts.writes.has(name)); number += 1) {
      await dieBehind(cuts, url, number)
      await recover(relay.hurriedUrl)
    }
    await leaveReservations(store)
    await recover(relay.hurriedUrl)
    await until('a sign of life', () => (cuts.writes.has('update logs: renewed') ? true : undefined))
    await expectOrder(store, url, number - 12)
  } finally {
    await store.close()
    await relay.close()
  }
}

/** A process that takes all others for dead finishes what they left, and ends. */
async function recover(url: string): Promise<void> {
  const store = await openMongoStore({ url, nowMs: () => Date.now() + FAR_AHEAD_MS })
  await store.recover(0)
  expect(await store.lease.hold('lease', 0)).toBe(true)
  await store.close()
}

async function makeCommonWrites(store: MongoStore): Promise<void> {
  const pen = await LogPen.of(store)
  await store.replicas.join('https://decisions.example')
  await store.replicas.publishSigningKeys([KEY], instant(0))
  await store.replicas.markKeysKnown([KEY.kid])
  await store.replicas.markKeySetRead()
  await store.replicas.revision()
  const slot = { owner: 'key 1', id: idOf('dec', 1), limit: 1, at: instant(0), expires_at: instant(DAY) }
  expect(await store.replicas.reviewSlots.take([slot])).toEqual([true])
  await store.replicas.reviewSlots.release([slot])
  await store.replicas.reviewSlots.forgetOver(instant(2 * DAY))
  await store.secret('cursors')
  await store.ping()
  await store.keys.saveUses(new Map([[idOf('key', 1), instant(0)]]))
  expect(await store.lease.hold('lease', 0)).toBe(true)

  const [policy, agent] = [policyOf(1, 1), agentOf('agent:1')]
  await pen.commit(writePolicyOf(policy), writeAgentOf(agent), writeKeyOf(keyOf(1)), writeWebhookOf(webhookOf(1)))
  await pen.commit(
    writePolicyOf({ ...policy, version: 2, policy_set: 2 }),
    writeAgentOf({ ...agent, version: 2 }),
    writeWebhookOf({ ...webhookOf(1), version: 2, deleted_at: instant(0) }),
    { kind: 'entry.only' },
    { change: { kind: 'call.only' }, idempotency: idempotencyOf('agent:1', { operation: 'POST /v1/agents' }) },
  )
  // One that has expired leaves the directory with the next write of a key, and once more when it was revoked.
  const expired = keyOf(9, { expires_at: instant(0) })
  await pen.commit(writeKeyOf(expired), writeKeyOf(keyOf(8)))
  await pen.commit(
    writeKeyOf({ ...expired, version: 2, revoked_at: instant(0) }),
    writeKeyOf({ ...keyOf(8), version: 2, revoked_at: instant(DAY) }),
  )
  const reserved = await reserve(store, 1)
  const asked = idempotencyOf(idOf('dec', 1), { fingerprint: held(1).request_hash })
  await pen.commit({ change: createOf(held(1), requestOf(1), reserved), idempotency: asked })
  const settled = updateOf(held(1), { status: 'confirmed', postings: [spentIn(ACCOUNT, 5n, 3n)] })
  await pen.commit(settled)
  const erase = eraseOf(settled.decision)
  await pen.commit(erase)
  // A day later the name of that call is free.
  const again = idempotencyOf(idOf('dec', 2), { created_at: instant(2 * DAY), expires_at: instant(3 * DAY) })
  await pen.commit({ change: createOf(reviewOf(2)), idempotency: again })
  await store.ledger.release((await reserve(store, 3)) as string)

  await until('the removal', async () =>
    (await store.decisions.remove([erase.decision], instant(4 * DAY))) === 1 ? true : undefined,
  )
  expect(await store.idempotency.purge(instant(4 * DAY))).toBe(2)
}

/** What the feed keeps, from the first position of a reader to its end. */
async function makeFeedWrites(feed: MongoStore): Promise<void> {
  const reader = (await feed.readers.hold('reader', 'holder', DAY)) as HeldReader
  const counts = [{ id: 'count', series: 'series', starts_ms: 0, document: { count: 1 } }]
  const nodes = [{ tree: 'root', level: 8, index: 0, hash: 'hash' }]
  const checkpoints = [{ index: 0, log: 'log', size: 1, created_at: instant(0), note: 'note' }]
  const deliveries = [deliveryOf(1), deliveryOf(2)]
  const batch = { reader, positions: { log: 1 }, state: {}, deliveries, counts, nodes, checkpoints }
  expect(await feed.readers.save(batch)).toBe(true)
  const later = deliveryOf(1, { version: 2, next_attempt_at: instant(DAY) })
  const delivered = deliveryOf(2, { version: 2, status: 'delivered', next_attempt_at: null })
  expect(await feed.deliveries.update([later, delivered])).toHaveLength(2)
  const { items } = await feed.deliveries.list({ webhook_id: later.webhook_id }, { limit: 9, after: null })
  expect(items).toEqual([delivered, later])
  expect(await feed.counts.list({ series: 'series', from_ms: 0, to_ms: 1 }, 9)).toEqual(counts)
  expect(await feed.trees.getNodes('root', [{ level: 8, index: 0 }])).toEqual(nodes)
  expect(await feed.trees.listCheckpoints(0, 9)).toEqual(checkpoints)
  expect(await feed.readers.get('reader')).toEqual({ positions: { log: 1 }, state: {} })
  await feed.deliveries.remove(later.webhook_id, null)
  await feed.counts.remove('series', 1)
  await feed.readers.release('holder')
  await feed.readers.remove('reader')
  expect(await feed.readers.list('')).toEqual([])
}

/** A process writes the intents of a group of everything, and dies before any of it is written. */
async function dieBefore(cuts: Cuts, url: string): Promise<void> {
  await die(cuts, url, isOfHome, async (store, pen) => {
    const reservation = await reserve(store, 11)
    await pen.commit(
      { change: createOf(held(11), requestOf(11), reservation), idempotency: idempotencyOf(idOf('dec', 11)) },
      updateOf(reviewOf(2), { status: 'declined' }),
      writePolicyOf(policyOf(2, 3)),
      writeKeyOf(keyOf(2)),
      writeWebhookOf(webhookOf(2)),
      writeAgentOf(agentOf('agent:1', { version: 3 })),
      writeAgentOf(agentOf('agent:2')),
      { kind: 'entry.only' },
    )
  })
}

/** A process writes a group with a decision, and dies before anything follows from it. */
async function dieBehind(cuts: Cuts, url: string, number: number, changes: readonly Change[] = []): Promise<void> {
  let isWritten = false
  const isBehind = (command: Command) => {
    if (isOfHome(command)) isWritten = true
    return isWritten && isWrite(command) && !isOfHome(command)
  }
  await die(cuts, url, isBehind, async (store, pen) => {
    const reservation = await reserve(store, number)
    const postings = [spentIn(ACCOUNT, 5n, 4n)]
    const decision = decisionOf(number, { status: 'confirmed', postings })
    await pen.commit(createOf(decision, requestOf(number), reservation), ...changes)
  })
}

/** Reservations that nobody will ever write a record for: of a decision that is not there, and of one that is. */
async function leaveReservations(store: MongoStore): Promise<void> {
  await reserve(store, 21)
  await reserve(store, 2, 2)
}

/** @param left how many decisions were written by processes that died */
async function expectOrder(store: MongoStore, url: string, left: number): Promise<void> {
  const everything = { limit: 200, after: null }
  const { items } = await store.decisions.list({ agents: null, now: instant(0) }, everything)
  const numbers = Array.from({ length: left }, (_, i) => 12 + i)
  expect(items.map(({ decision: { id, status } }) => [id, status])).toEqual([
    ...numbers.reverse().map((number) => [idOf('dec', number), 'confirmed']),
    [idOf('dec', 2), 'approved'],
  ])
  // Also of the decision that was removed.
  expect(await store.ledger.balances([ACCOUNT])).toEqual([{ spent: 3n + 4n * BigInt(left), reserved: 0n }])
  const { policies } = await store.policies.load()
  expect(policies.map(({ id }) => id).sort()).toEqual([idOf('pol', 1), idOf('pol', 3)])
  expect((await store.keys.load()).map(({ id }) => id)).toEqual([1, 3, 8, 9].map((number) => idOf('key', number)))
  expect(await store.webhooks.load()).toEqual([webhookOf(3)])
  expect((await store.agents.load()).map(({ id }) => id).sort()).toEqual(['agent:1', 'agent:3'])
  const entries = await walk(200, (page) => store.audit.list({}, page))
  for (const log of new Set(entries.map((entry) => entry.log))) {
    const indexes = entries.filter((entry) => entry.log === log).map(({ index }) => index)
    expect(indexes.sort((one, other) => one - other)).toEqual([...indexes.keys()])
  }
  expect(entries.filter(({ type }) => type === 'void')).toHaveLength(8)
  const database = await Database.open(url)
  expect(await database.accounts.countDocuments({ marked_ms: { $ne: null } })).toBe(0)
  expect(await database.decisions.countDocuments({ unsettled: { $exists: true } })).toBe(0)
  await database.close()
}

/** Lets a process do something until it is dead, which it is before that is done. */
async function die(
  cuts: Cuts,
  url: string,
  death: Death,
  life: (store: MongoStore, pen: LogPen) => Promise<void>,
): Promise<void> {
  let isDead = false
  const fateOf = (command: Command): Fate => {
    isDead ||= death(command)
    return isDead ? 'lost' : cuts.fateOf(command)
  }
  const relay = await openRelay(url, fateOf)
  const database = await Database.open(relay.hurriedUrl)
  const store = new MongoStore(database, Date.now)
  const pen = await LogPen.of(store)
  const failure = life(store, pen).catch((error: unknown) => error)
  await until('its death', () => (isDead ? true : undefined))
  await database.close()
  expect(await failure).toBeInstanceOf(StoreUnavailableError)
  await relay.close()
}

function isOfHome(command: Command): boolean {
  return (command.name === 'insert' || command.name === 'update') && PRIMARIES.has(command.collection)
}

function held(number: number) {
  return decisionOf(number, { postings: [heldIn(ACCOUNT, 5n)] })
}

async function reserve(store: MongoStore, number: number, version = 0): Promise<string | null> {
  const demands = [{ account: ACCOUNT, amount: 5n, limit: 100n }]
  return (await store.ledger.reserve({ decision_id: idOf('dec', number), version, demands })).reservation
}
