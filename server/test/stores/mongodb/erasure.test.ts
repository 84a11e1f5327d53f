/** Requests that are erased: nothing of them is left in any collection, wherever the process dies that erases them. */
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { StoredDecision } from '#server/ports/store/documents'
import { StoreUnavailableError } from '#server/ports/store/errors'
import type { Database } from '#server/stores/mongodb/connection/database'
import {
  accountOf,
  createOf,
  DAY,
  decisionOf,
  eraseOf,
  heldIn,
  idempotencyOf,
  instant,
  LogPen,
  updateOf,
} from '../../store-suite/index.js'
import { comesLate, fails, intercept, LATER_MS, type Member, Processes } from './processes.js'

const ACCOUNT = accountOf()
/** What is in no other document. */
const MARKERS = ['the-context', 'the-resource', 'the-hash', 'the-salt'] as const
const [context, resource, request_hash, salt] = MARKERS
const REQUEST = { context: { note: context }, salt }

const DECISION = decisionOf(1, { resource, request_hash, status: 'denied' })
const ASKED = idempotencyOf(DECISION.id, { fingerprint: request_hash })

let processes: Processes
beforeEach(() => {
  processes = new Processes(`countersign-erasure-${randomBytes(6).toString('hex')}`)
})
afterEach(() => processes.end())

/** The markers that are in some document of some collection. */
async function markersIn({ database }: Member): Promise<readonly string[]> {
  const { db } = database.meta
  const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name)
  const found = await Promise.all(names.map((name) => db.collection(name).find().toArray()))
  const text = JSON.stringify(found)
  return MARKERS.filter((marker) => text.includes(marker))
}

async function createWith(pen: LogPen, decision: StoredDecision = DECISION): Promise<void> {
  const drafts = { change: createOf(decision, REQUEST), idempotency: ASKED }
  expect(await pen.commit(drafts)).toEqual({ written: 1, conflict: null })
}

/** Once the other has said nothing for so long that it is dead. */
async function recover({ store }: Member): Promise<void> {
  processes.aheadMs = LATER_MS
  await store.recover(0)
  processes.aheadMs = 0
}

interface Death {
  /** The number of the write, counted from 1; at 0 the process lives. */
  at: number
  /** How many it has made since. */
  writes: number
}

/** A death that is planned for one write after the other. */
function deathOf(database: Database, isApplied: boolean): Death {
  const death: Death = { at: 0, writes: 0 }
  for (const name of ['logs', 'claims', 'decisions', 'audit', 'accounts', 'lastSeen'] as const)
    for (const method of ['insertMany', 'bulkWrite', 'updateOne', 'deleteOne'])
      intercept(database, name, method, async (own, parameters) => {
        if (death.at === 0) return own(...parameters)
        death.writes += 1
        if (death.writes < death.at) return own(...parameters)
        if (death.writes === death.at && isApplied) await own(...parameters)
        throw new StoreUnavailableError('It died.')
      })
  return death
}

it('nothing of an erased request is in any collection, nor of the call that asked, and no process brings it back', async () => {
  const [member, other] = [await processes.start(), await processes.start()]
  const pen = await LogPen.of(member.store)
  const open = { ...DECISION, status: 'authorized' as const, postings: [heldIn(ACCOUNT, 5n)] }
  await createWith(pen, open)
  expect(await markersIn(member)).toEqual(MARKERS)
  const erase = eraseOf(open)
  expect(await pen.commit(erase)).toEqual({ written: 1, conflict: null })
  expect(await markersIn(member)).toEqual([])
  const late = await LogPen.of(other.store)
  expect(await late.commit(updateOf(open, { status: 'confirmed' }))).toEqual({ written: 0, conflict: 'version' })
  await late.commit(updateOf(erase.decision, { status: 'rejected' }))
  await recover(other)
  expect(await markersIn(member)).toEqual([])
})

it.each([
  ['before', false],
  ['behind', true],
] as const)('a request is erased whole or not at all, whichever write its process dies %s', async (_, isApplied) => {
  const [member, heir] = [await processes.start(), await processes.start()]
  const death = deathOf(member.database, isApplied)
  const ends = new Set<boolean>()
  for (let number = 1, isOver = false; !isOver; number += 1) {
    const decision = { ...DECISION, id: decisionOf(number).id }
    const asked = { ...ASKED, key: `call ${number}`, subject: decision.id }
    const pen = await LogPen.of(member.store)
    await pen.commit({ change: createOf(decision, REQUEST), idempotency: asked })
    Object.assign(death, { at: number, writes: 0 })
    const outcome = await pen.commit(eraseOf(decision)).catch((error: unknown) => error)
    isOver = death.writes < number
    death.at = 0
    if (isOver) expect(outcome).toEqual({ written: 1, conflict: null })
    else expect(outcome).toBeInstanceOf(StoreUnavailableError)
    await recover(heir)
    const found = await heir.store.decisions.get(decision.id)
    const isErased = found?.decision.request_erased_at !== undefined
    ends.add(isErased)
    const record = await heir.store.idempotency.get(asked, instant(0))
    expect(record?.fingerprint, `write ${number}`).toBe(isErased ? null : request_hash)
    expect(await markersIn(heir), `write ${number}`).toEqual(isErased ? [] : MARKERS)
    // Of the next one, nothing else is to be found.
    if (!isErased) await (await LogPen.of(heir.store)).commit(eraseOf(found?.decision as StoredDecision))
    expect(await markersIn(heir), `write ${number}`).toEqual([])
  }
  expect(ends).toEqual(new Set([false, true]))
})

it('what a process leaves of an erasure is finished also when the decision was written again before', async () => {
  const [dead, heir] = [await processes.start(), await processes.start()]
  const pen = await LogPen.of(heir.store)
  await createWith(pen)
  fails(dead.database, 'claims', 'bulkWrite')
  const erase = eraseOf(DECISION)
  await expect((await LogPen.of(dead.store)).commit(erase)).rejects.toThrow('died')
  expect(await pen.commit(updateOf(erase.decision, { status: 'expired' }))).toEqual({ written: 1, conflict: null })
  // So that no intent of its own names the decision.
  await pen.commit({ kind: 'entry.only' })
  expect(await markersIn(heir)).toEqual([request_hash])
  await recover(heir)
  expect(await markersIn(heir)).toEqual([])
})

it('a decision stays until its request is erased whole', async () => {
  const [dead, heir] = [await processes.start(), await processes.start()]
  await createWith(await LogPen.of(heir.store))
  fails(dead.database, 'claims', 'bulkWrite')
  const erase = eraseOf(DECISION)
  await expect((await LogPen.of(dead.store)).commit(erase)).rejects.toThrow('died')
  expect(await heir.store.decisions.remove([erase.decision], instant(2 * DAY))).toBe(0)
  await recover(heir)
  expect(await heir.store.decisions.remove([erase.decision], instant(2 * DAY))).toBe(1)
  expect(await markersIn(heir)).toEqual([])
})

it('a command that comes late forgets no fingerprint of the call that has the name since', async () => {
  const member = await processes.start()
  const pen = await LogPen.of(member.store)
  await createWith(pen)
  const late = comesLate(member.database, 'claims', 'bulkWrite')
  await pen.commit(eraseOf(DECISION))
  const next = decisionOf(2)
  const times = { created_at: instant(2 * DAY), expires_at: instant(3 * DAY) }
  const asked = { ...ASKED, ...times, subject: next.id }
  expect(await pen.commit({ change: createOf(next), idempotency: asked })).toEqual({ written: 1, conflict: null })
  await late()
  expect(await member.store.idempotency.get(asked, instant(2 * DAY))).toStrictEqual(asked)
})
