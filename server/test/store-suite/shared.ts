/** What a store that several processes share promises beyond that, on two openings of the same data. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredKey } from '#server/ports/store/documents'
import type { HeldReader } from '#server/ports/store/feed'
import type { Replicas, ReviewSlots, Revision, SharedSigningKey, WantedSlot } from '#server/ports/store/replicas'
import type { Store } from '#server/ports/store/store'
import {
  accountOf,
  agentOf,
  createOf,
  type Draft,
  decisionOf,
  deliveryOf,
  eraseOf,
  idempotencyOf,
  idOf,
  instant,
  keyOf,
  LogPen,
  policyOf,
  requestOf,
  reviewOf,
  updateOf,
  webhookOf,
  writeAgentOf,
  writeKeyOf,
  writePolicyOf,
  writeWebhookOf,
} from './documents.js'
import { LogReader } from './read-log.js'
import { batchOf, held, LONG_MS } from './readers.js'

/** Two openings of the same, empty data, as two processes have them. */
export interface OpenedSharedStore {
  readonly stores: readonly [Store, Store]
  /** Closes both and removes everything. */
  destroy(): Promise<void>
}

interface SharedStoreCase {
  /** States what is guaranteed. */
  readonly title: string
  run(opened: OpenedSharedStore): Promise<void>
}

const ROUNDS = 20

const CHANGES = {
  policies: () => writePolicyOf(policyOf(1, 1)),
  agents: () => writeAgentOf(agentOf('agent:1')),
  keys: () => writeKeyOf(keyOf(1)),
} as const satisfies Partial<Record<keyof Revision, () => Draft['change']>>

const SIGNING_KEY: SharedSigningKey = { kid: 'kid-1', x: 'x', published_until: instant(100), revoked_at: null }

function replicasOf(store: Store): Replicas {
  expect(store.replicas).not.toBeNull()
  return store.replicas as Replicas
}

function slotsOf(store: Store | undefined): ReviewSlots {
  return replicasOf(store as Store).reviewSlots
}

function slotOf(number: number, owner: string, over: Partial<WantedSlot> = {}): WantedSlot {
  return { owner, id: idOf('dec', number), limit: 5, at: instant(0), expires_at: instant(1000), ...over }
}

/** The members of a revision that are not as they were. */
function changed(before: Revision, after: Revision): readonly string[] {
  return Object.keys(before).filter((kind) => before[kind as keyof Revision] !== after[kind as keyof Revision])
}

/** Each record is written by both at once, by each in its own log; one of them wins each time. */
async function expectOneWinner(
  { stores }: OpenedSharedStore,
  conflict: string,
  drafts: (round: number) => readonly [Draft, Draft],
): Promise<void> {
  const pens = await Promise.all(stores.map((store) => LogPen.of(store)))
  for (let round = 1; round <= ROUNDS; round += 1) {
    const both = drafts(round)
    const results = await Promise.all(
      // The logs of two processes have no entry in common.
      pens.map((pen, i) => pen.commit({ ...(both[i] as Draft), entry: { id: idOf('aud', 1000 * (i + 1) + round) } })),
    )
    const met = results.map((result) => result.conflict ?? result.lateConflicts?.get(0) ?? null)
    expect(met.toSorted()).toEqual([null, conflict].toSorted())
  }
}

export const SHARED_STORE_CASES: readonly SharedStoreCase[] = [
  ...Object.entries(CHANGES).map(([kind, change]) => ({
    title: `tells the other process of changed ${kind} once their commit has resolved, and of nothing else`,
    async run({ stores: [first, second] }: OpenedSharedStore) {
      const pen = await LogPen.of(first)
      const before = await replicasOf(second).revision()
      await pen.commit(change())
      const after = await replicasOf(second).revision()
      expect(changed(before, after)).toEqual([kind])
      expect(after[kind as keyof Revision]).not.toBeNull()
    },
  })),
  {
    title: 'has the same revision as long as nothing that it speaks of changes',
    async run({ stores: [first, second] }) {
      const pen = await LogPen.of(first)
      await pen.commit(...Object.values(CHANGES).map((change) => change()))
      const before = await replicasOf(second).revision()
      for (let number = 1; number <= 3; number += 1) await pen.commit(createOf(decisionOf(number)))
      expect(await replicasOf(second).revision()).toEqual(before)
      expect(await replicasOf(first).revision()).toEqual(before)
    },
  },
  {
    title: 'shows the other process what a commit wrote',
    async run({ stores: [first, second] }) {
      const pen = await LogPen.of(first)
      for (let number = 1; number <= ROUNDS; number += 1) {
        const decision = decisionOf(number)
        await pen.commit(createOf(decision))
        expect((await second.decisions.get(decision.id))?.decision).toEqual(decision)
      }
    },
  },
  {
    title: 'reads the log of the other process forward while both write, and some meet a conflict with the other',
    async run({ stores }) {
      const pens = await Promise.all(stores.map((store) => LogPen.of(store)))
      const readers = pens.map(({ log }, i) => new LogReader(stores[1 - i] as Store, log, 3))
      let decision = decisionOf(1)
      await pens[0]?.commit(createOf(decision))
      for (let round = 1; round <= ROUNDS / 2; round += 1) {
        const update = updateOf(decision, { holder: { name: `holder-${round}` } })
        // The logs of two processes have no entry in common.
        const commits = pens.map((pen, i) =>
          pen.commit(
            { change: update, entry: { id: idOf('aud', 1000 * (i + 1) + 2 * round) } },
            { change: { kind: 'entry.only' }, entry: { id: idOf('aud', 1000 * (i + 1) + 2 * round + 1) } },
          ),
        )
        await Promise.all(readers.map((reader) => reader.readOn()))
        await Promise.all(commits)
        decision = (await stores[0].decisions.get(decision.id))?.decision ?? decision
      }
      for (const [i, reader] of readers.entries()) {
        await reader.readOn()
        const { next_index } = await (stores[i] as Store).openLog()
        expect(reader.entries.map(({ index }) => index)).toEqual([...Array(next_index).keys()])
      }
    },
  },
  {
    title: 'names the issuers of the others',
    async run({ stores: [first, second] }) {
      expect(await replicasOf(first).join('https://one.example')).toEqual([])
      expect(await replicasOf(second).join('https://two.example')).toEqual(['https://one.example'])
    },
  },
  {
    title: 'tells that the key set was read, whichever process said so',
    async run({ stores: [first, second] }) {
      for (const store of [first, second]) expect(await replicasOf(store).wasKeySetRead()).toBe(false)
      for (let round = 0; round < 2; round += 1) await replicasOf(first).markKeySetRead()
      for (const store of [first, second]) expect(await replicasOf(store).wasKeySetRead()).toBe(true)
    },
  },
  {
    title: 'shows signing keys to the other process as long as they are published',
    async run({ stores: [first, second] }) {
      const before = await replicasOf(second).revision()
      await replicasOf(first).publishSigningKeys([SIGNING_KEY], instant(0))
      expect(changed(before, await replicasOf(second).revision())).toEqual(['signing_keys'])
      expect(await replicasOf(second).loadSigningKeys(instant(99.999))).toEqual([{ ...SIGNING_KEY, is_known: false }])
      expect(await replicasOf(second).loadSigningKeys(instant(100))).toEqual([])
      const longer = { ...SIGNING_KEY, published_until: instant(200) }
      await replicasOf(first).publishSigningKeys([longer], instant(0))
      expect(await replicasOf(second).loadSigningKeys(instant(100))).toEqual([{ ...longer, is_known: false }])
    },
  },
  {
    title: 'tells that a signing key is known, as long as it is published without a break',
    async run({ stores: [first, second] }) {
      const isKnown = async () => (await replicasOf(second).loadSigningKeys(instant(0)))[0]?.is_known
      const publish = (at: number, until: number) =>
        replicasOf(first).publishSigningKeys([{ ...SIGNING_KEY, published_until: instant(until) }], instant(at))
      await publish(0, 100)
      expect(await isKnown()).toBe(false)
      await replicasOf(second).markKeysKnown([SIGNING_KEY.kid])
      await publish(99.999, 200)
      expect(await isKnown()).toBe(true)
      await publish(200, 300)
      expect(await isKnown()).toBe(false)
    },
  },
  {
    title: 'keeps a revoked signing key revoked, no matter who publishes it again',
    async run({ stores: [first, second] }) {
      await replicasOf(first).publishSigningKeys([SIGNING_KEY], instant(0))
      const revoked = { ...SIGNING_KEY, revoked_at: instant(5) }
      await replicasOf(second).publishSigningKeys([revoked], instant(0))
      await replicasOf(first).publishSigningKeys([{ ...SIGNING_KEY, published_until: instant(300) }], instant(0))
      for (const store of [first, second])
        expect(await replicasOf(store).loadSigningKeys(instant(1000))).toMatchObject([{ revoked_at: instant(5) }])
    },
  },
  {
    title: 'lets one of two processes win that write a decision at one version',
    async run(opened) {
      const pen = await LogPen.of(opened.stores[0])
      const decisions = [...Array(ROUNDS).keys()].map((i) => decisionOf(i + 1))
      await pen.commit(...decisions.map((decision) => createOf(decision)))
      await expectOneWinner(opened, 'version', (round) => {
        const decision = decisions[round - 1] as ReturnType<typeof decisionOf>
        return [
          { change: updateOf(decision, { status: 'confirmed' }) },
          { change: updateOf(decision, { status: 'rejected' }) },
        ]
      })
    },
  },
  {
    title: 'erases a request whole or not at all while the other process writes its decision',
    async run(opened) {
      const [first, second] = opened.stores
      const decisions = [...Array(ROUNDS).keys()].map((i) => decisionOf(i + 1))
      await (await LogPen.of(first)).commit(...decisions.map((decision) => createOf(decision, requestOf(1))))
      await expectOneWinner(opened, 'version', (round) => {
        const decision = decisions[round - 1] as ReturnType<typeof decisionOf>
        return [{ change: eraseOf(decision) }, { change: updateOf(decision, { status: 'confirmed' }) }]
      })
      for (const { id, request_hash } of decisions) {
        const found = await second.decisions.get(id)
        const isErased = found?.decision.request_erased_at !== undefined
        expect(found?.request).toStrictEqual(isErased ? { context: null, salt: null } : requestOf(1))
        const filter = { agents: null, now: instant(0), request_hash: request_hash as string }
        const { items } = await first.decisions.list(filter, { limit: 9, after: null })
        expect(items.map(({ decision }) => decision.id)).toEqual(isErased ? [] : [id])
      }
    },
  },
  {
    title: 'lets one of two processes win that make calls of one name',
    run: (opened) =>
      expectOneWinner(opened, 'idempotency_key', (round) => {
        const [one, other] = [decisionOf(2 * round), decisionOf(2 * round + 1)]
        const key = `call ${round}`
        return [
          { change: createOf(one), idempotency: idempotencyOf(one.id, { key }) },
          { change: createOf(other), idempotency: idempotencyOf(other.id, { key }) },
        ]
      }),
  },
  {
    title: 'lets one of two processes win that make keys of one secret',
    run: (opened) =>
      expectOneWinner(opened, 'key_secret', (round) => {
        const secrets: StoredKey['secrets'] = [{ hash: `same ${round}`, hint: 'cs_sk_…', expires_at: null }]
        return [
          { change: writeKeyOf(keyOf(2 * round, { secrets })) },
          { change: writeKeyOf(keyOf(2 * round + 1, { secrets })) },
        ]
      }),
  },
  {
    title: 'has only some review slots of an owner, whichever process takes them',
    async run({ stores }) {
      const [first, second] = stores
      for (let round = 1; round <= ROUNDS; round += 1) {
        const wanted = [...Array(16).keys()].map((i) => slotOf(100 * round + i, `agent ${round}`))
        // Some together, some each by itself.
        const groups = [wanted.slice(0, 6), wanted.slice(6, 12), ...wanted.slice(12).map((one) => [one])]
        const taken = await Promise.all(groups.map((group, i) => slotsOf(stores[i % 2]).take(group)))
        const those = wanted.filter((_, i) => taken.flat()[i])
        expect(those).toHaveLength(5)
        expect(await slotsOf(second).take(those)).toEqual(those.map(() => true))
        const [gone] = those as [WantedSlot]
        await slotsOf(first).release([gone, gone, slotOf(1, 'agent of none')])
        const more = [50, 51].map((number) => slotOf(100 * round + number, `agent ${round}`))
        expect(await slotsOf(second).take(more)).toEqual([true, false])
      }
    },
  },
  {
    title: 'has each owner its own number of review slots, also in one call, and may have none',
    async run({ stores: [first, second] }) {
      const wanted = [0, 1, 2, 3].flatMap((limit) =>
        [1, 2, 3].map((number) => slotOf(number, `key ${limit}`, { limit })),
      )
      const isTaken = [false, false, false, true, false, false, true, true, false, true, true, true]
      expect(await slotsOf(first).take(wanted)).toEqual(isTaken)
      expect(await slotsOf(second).take(wanted)).toEqual(isTaken)
    },
  },
  {
    title: 'finds out which review slots are taken by reviews that wait no longer',
    async run({ stores: [first, second] }) {
      const [waits, declined, over] = [reviewOf(1), reviewOf(2), reviewOf(3)]
      const pen = await LogPen.of(first)
      await pen.commit(createOf(waits), createOf(declined), createOf(over))
      await pen.commit(updateOf(declined, { status: 'declined' }))
      const onItsWay = slotOf(4, 'key 1', { at: instant(299) })
      const lost = slotOf(5, 'key 1')
      const ended = slotOf(3, 'key 1', { expires_at: instant(300) })
      const all = [slotOf(1, 'key 1'), slotOf(2, 'key 1'), ended, onItsWay, lost]
      expect(await slotsOf(first).take(all)).toEqual(all.map(() => true))
      const others = [10, 11, 12, 13].map((number) => slotOf(number, 'key 1', { at: instant(300) }))
      expect(await slotsOf(second).take(others)).toEqual([false, false, false, false])
      await slotsOf(second).clear('key 1', instant(300))
      // Of the one that was declined, of the one whose time is over, and of the one that was never recorded.
      expect(await slotsOf(second).take(others)).toEqual([true, true, true, false])
    },
  },
  {
    title: 'forgets who has no review any more, and nobody else',
    async run({ stores: [first, second] }) {
      const slotsAt = (at: number) => [1, 2].map((number) => slotOf(at, `key ${number}`, { limit: 1 }))
      const [one, other] = slotsAt(1) as [WantedSlot, WantedSlot]
      await slotsOf(first).take([one, { ...other, expires_at: instant(1000.001) }])
      await slotsOf(second).forgetOver(instant(1000))
      expect(await slotsOf(first).take(slotsAt(2))).toEqual([true, false])
    },
  },
  {
    title: 'lets one of two processes win that write a webhook at one version, and shows it to both',
    async run(opened) {
      const [first, second] = opened.stores
      await expectOneWinner(opened, 'version', (round) => {
        const changes = ['one', 'other'].map((end) =>
          writeWebhookOf(webhookOf(round, { url: `https://example.com/${end}` })),
        )
        return [{ change: changes[0] as Draft['change'] }, { change: changes[1] as Draft['change'] }]
      })
      expect(await first.webhooks.load()).toHaveLength(ROUNDS)
      expect(await second.webhooks.load()).toStrictEqual(await first.webhooks.load())
    },
  },
  {
    title: 'names the logs of both processes while they write, and no end behind an entry that is missing',
    async run({ stores }) {
      const pens = await Promise.all(stores.map((store) => LogPen.of(store)))
      for (let round = 0; round < ROUNDS; round += 1) {
        const commits = pens.map((pen, i) =>
          pen.commit(
            ...[0, 1, 2].map((n) => ({
              change: { kind: 'entry.only' as const },
              entry: { id: idOf('aud', 1000 * (i + 1) + 3 * round + n) },
            })),
          ),
        )
        for (const { log, next_index } of await stores[round % 2]!.audit.listLogs())
          expect((await stores[0].audit.read(log, 0, 200)).length).toBeGreaterThanOrEqual(next_index)
        await Promise.all(commits)
        const ends = pens.map(({ log }) => ({ log, next_index: 3 * (round + 1) }))
        for (const store of stores)
          expect(await store.audit.listLogs()).toEqual(ends.toSorted((one, other) => (one.log < other.log ? -1 : 1)))
      }
    },
  },
  {
    title: 'gives a reader to one of two processes, and to the other when it is released',
    async run({ stores }) {
      for (let round = 1; round <= ROUNDS; round += 1) {
        const name = `reader ${round}`
        const asked = stores.map((store, i) => store.readers.hold(name, `process ${i}`, LONG_MS))
        const holders = await Promise.all(asked)
        expect(holders.filter((reader) => reader !== null)).toHaveLength(1)
        const winner = holders[0] === null ? 1 : 0
        expect(await stores[1 - winner]!.readers.hold(name, `process ${1 - winner}`, LONG_MS)).toBeNull()
        await stores[winner]!.readers.release(`process ${winner}`)
        const next = await held(stores[1 - winner]!, name, `process ${1 - winner}`)
        expect(next.fence).toBeGreaterThan(holders[winner]!.fence)
      }
    },
  },
  {
    title:
      'writes no position and no count of a process that has lost its reader to the other, and goes on with its own',
    async run({ stores: [first, second] }) {
      const count = (by: string) => ({ id: 'count', series: 'series', starts_ms: 0, document: { by } })
      const counts = () => first.counts.list({ series: 'series', from_ms: 0, to_ms: 1 }, 10)
      const old = await held(first, 'reader', 'one', 0)
      expect(await first.readers.save(batchOf(old, { positions: { log: 1 }, counts: [count('one')] }))).toBe(true)
      const reader = await held(second, 'reader', 'other')
      expect(reader.positions).toEqual({ log: 1 })
      const stale = batchOf(old, { positions: { log: 9 }, counts: [count('late')] })
      expect(await first.readers.save(stale)).toBe(false)
      expect(await counts()).toStrictEqual([count('one')])
      expect(await second.readers.save(batchOf(reader, { positions: { log: 2 }, counts: [count('other')] }))).toBe(true)
      expect(await first.readers.save(stale)).toBe(false)
      expect(await counts()).toStrictEqual([count('other')])
      expect(await first.readers.get('reader')).toEqual({ positions: { log: 2 }, state: {} })
    },
  },
  {
    title: 'lets the holder go on while two processes ask for a reader again and again',
    async run({ stores }) {
      let positions = 0
      let last = 0
      for (let round = 0; round < ROUNDS; round += 1) {
        const asked = stores.map((store, i) => store.readers.hold('reader', `process ${i}`, 0))
        const holders = (await Promise.all(asked)) as HeldReader[]
        const saved = await Promise.all(
          stores.map((store, i) =>
            store.readers.save(batchOf(holders[i] as HeldReader, { positions: { log: positions + 1 + i } })),
          ),
        )
        // Of both, the one that took it later.
        const winner = holders[0]!.fence > holders[1]!.fence ? 0 : 1
        expect(saved[winner]).toBe(true)
        expect(holders[winner]!.fence).toBeGreaterThan(last)
        last = holders[winner]!.fence
        positions += 1 + winner
        expect((await stores[1 - winner]!.readers.get('reader'))?.positions).toEqual({ log: positions })
      }
    },
  },
  {
    title: 'lets one of two processes win that write a delivery back at one version',
    async run({ stores }) {
      await stores[0].deliveries.add(deliveryOf(1))
      for (let version = 2; version <= ROUNDS; version += 1) {
        const written = await Promise.all(
          stores.map((store, i) => store.deliveries.update([deliveryOf(1, { version, attempt_count: i })])),
        )
        expect(written.flat()).toEqual([deliveryOf(1).id])
        const winner = written[0]?.length === 1 ? 0 : 1
        expect((await stores[1 - winner]!.deliveries.get(deliveryOf(1).id))?.attempt_count).toBe(winner)
      }
    },
  },
  {
    title: 'gives the last room to one of two processes that ask for it at once',
    async run({ stores }) {
      for (let round = 1; round <= ROUNDS; round += 1) {
        const account = accountOf({ policy_id: idOf('pol', round) })
        const demands = [{ account, amount: 5n, limit: 8n }]
        const answers = await Promise.all(
          stores.map((store, i) =>
            store.ledger.reserve({ decision_id: idOf('dec', 2 * round + i), version: 0, demands }),
          ),
        )
        expect(answers.filter(({ reservation }) => reservation !== null)).toHaveLength(1)
        for (const store of stores)
          expect(await store.ledger.balances([account])).toEqual([{ spent: 0n, reserved: 5n }])
      }
    },
  },
]

/** Runs every case of a store that several processes share on new, empty data. */
export function sharedStoreSuite(name: string, open: () => Promise<OpenedSharedStore>): void {
  describe(name, () => {
    let opened: OpenedSharedStore
    beforeEach(async () => {
      opened = await open()
    })
    afterEach(() => opened.destroy())
    for (const { title, run } of SHARED_STORE_CASES) it(title, () => run(opened))
  })
}
