/**
 * What has to hold of a log when its process dies or ends in doubt, when a process that takes it over fails, too, and when commands
 * that were given up come through late.
 */

import { expect } from 'vitest'
import { auditDocumentOf } from '#server/stores/mongodb/collections/audit'
import {
  createOf,
  type Draft,
  decisionOf,
  idempotencyOf,
  idOf,
  instant,
  LogPen,
  policyOf,
  walk,
  writePolicyOf,
} from '../../store-suite/index.js'
import { before, comesLate, fails, LATER_MS, type Member, type Parameters, type Processes } from './processes.js'

type LogUpdate = { readonly $set: Partial<Record<'group' | 'underway' | 'epoch', unknown>> }

const updateIn = (parameters: Parameters) => (parameters[1] as LogUpdate).$set
const isSettle = (parameters: Parameters) => 'underway' in updateIn(parameters) && !('group' in updateIn(parameters))
const writesIntents = (parameters: Parameters) => ((updateIn(parameters).group as unknown[]) ?? []).length > 0
const isFinish = (parameters: Parameters) => ((updateIn(parameters).group as unknown[]) ?? ['none']).length === 0

async function typesOf({ store }: Member, subject: string): Promise<readonly string[]> {
  return (await walk(100, (page) => store.audit.list({ subject }, page))).map(({ type }) => type)
}

const called = (number: number, key: string): Draft => ({
  change: createOf(decisionOf(number)),
  idempotency: idempotencyOf(decisionOf(number).id, { key }),
  entry: { id: idOf('aud', number) },
})

/** Kept in memory as a process does it that looks at the revision again and again. */
class Follower {
  count = 0
  #known: string | null = null
  readonly #member: Member

  constructor(member: Member) {
    this.#member = member
  }

  async look(): Promise<void> {
    const { policies } = await this.#member.store.replicas.revision()
    if (policies !== null && policies === this.#known) return
    this.count = (await this.#member.store.policies.load()).policies.length
    this.#known = policies
  }
}

export interface LogCase {
  readonly title: string
  readonly run: (processes: Processes) => Promise<void>
}

export const LOG_CASES: readonly LogCase[] = [
  {
    title: 'one that was left in the middle of a group is finished, and nobody goes on with it',
    async run(processes) {
      const [dead, heir] = [await processes.start(), await processes.start()]
      fails(dead.database, 'audit', 'insertMany')
      const pen = await LogPen.of(dead.store)
      await expect(pen.commit(createOf(decisionOf(1)))).rejects.toThrow('died')
      processes.aheadMs = LATER_MS
      await heir.store.leaveLogs()
      expect(await heir.store.audit.has({ log: pen.log, index: 0 })).toBe(true)
      expect((await heir.store.openLog()).log).not.toBe(pen.log)
    },
  },
  {
    title: 'what a takeover that failed has left is finished by the next',
    async run(processes) {
      const [dead, heir] = [await processes.start(), await processes.start()]
      await LogPen.of(heir.store)
      fails(dead.database, 'audit', 'insertMany')
      await expect((await LogPen.of(dead.store)).commit(createOf(decisionOf(1)))).rejects.toThrow('died')
      processes.aheadMs = LATER_MS
      const failing = fails(heir.database, 'audit', 'insertMany')
      await expect(heir.store.recover(0)).rejects.toThrow('died')
      expect(await typesOf(heir, idOf('dec', 1))).toEqual([])
      failing.isOver = true
      await heir.store.recover(0)
      expect(await typesOf(heir, idOf('dec', 1))).toEqual(['decision.created'])
    },
  },
  {
    title: 'what was in doubt when its process ended is finished by another, and the name of the call is free',
    async run(processes) {
      const [ended, other] = [await processes.start(), await processes.start()]
      const pen = await LogPen.of(other.store)
      fails(ended.database, 'decisions', 'insertMany')
      await expect((await LogPen.of(ended.store)).commit(called(1, 'one'))).rejects.toThrow('died')
      await ended.store.close()
      await other.store.recover(0)
      expect(await pen.commit(called(2, 'one'))).toEqual({ written: 1, conflict: null })
      expect(await other.store.decisions.get(idOf('dec', 1))).toBeNull()
    },
  },
  {
    title: 'a change is not taken for known while it is on its way, whatever settles late',
    async run(processes) {
      const [writing, following] = [await processes.start(), await processes.start()]
      const follower = new Follower(following)
      const late = comesLate(writing.database, 'logs', 'updateOne', isSettle)
      const pen = await LogPen.of(writing.store)
      await pen.commit(writePolicyOf(policyOf(1, 1)))
      before(writing.database, 'policyDirectory', 'updateOne', async () => {
        await late()
        await follower.look()
      })
      await pen.commit(writePolicyOf(policyOf(2, 2)))
      await follower.look()
      expect(follower.count).toBe(2)
    },
  },
  {
    title: 'a change is not taken for known while it is on its way, whatever settles late of a group that failed',
    async run(processes) {
      const [writing, following] = [await processes.start(), await processes.start()]
      const follower = new Follower(following)
      const late = comesLate(writing.database, 'logs', 'updateOne', isSettle)
      const failing = fails(writing.database, 'audit', 'insertMany')
      await expect((await LogPen.of(writing.store)).commit(writePolicyOf(policyOf(1, 1)))).rejects.toThrow('died')
      failing.isOver = true
      const pen = await LogPen.of(writing.store)
      before(writing.database, 'policyDirectory', 'updateOne', async () => {
        await late()
        await follower.look()
      })
      await pen.commit(writePolicyOf(policyOf(2, 2)))
      await follower.look()
      expect(follower.count).toBe(2)
    },
  },
  {
    title: 'a process that takes a log over finishes its last group, whatever intents come late',
    async run(processes) {
      const [dead, heir] = [await processes.start(), await processes.start()]
      const late = comesLate(dead.database, 'logs', 'updateOne', writesIntents)
      const pen = await LogPen.of(dead.store)
      await pen.commit(createOf(decisionOf(1)))
      before(dead.database, 'audit', 'insertMany', late)
      fails(dead.database, 'audit', 'insertMany')
      await expect(pen.commit(createOf(decisionOf(2)))).rejects.toThrow('died')
      await late()
      processes.aheadMs = LATER_MS
      await heir.store.recover(0)
      expect(await typesOf(heir, idOf('dec', 2))).toEqual(['decision.created'])
    },
  },
  {
    title: 'a process that takes a log over finishes its last group, whatever is finished late',
    async run(processes) {
      const [dead, heir] = [await processes.start(), await processes.start()]
      const failing = fails(dead.database, 'audit', 'insertMany')
      await expect((await LogPen.of(dead.store)).commit(createOf(decisionOf(1)))).rejects.toThrow('died')
      failing.isOver = true
      const late = comesLate(dead.database, 'logs', 'updateOne', isFinish)
      const pen = await LogPen.of(dead.store)
      failing.isOver = false
      await expect(pen.commit(createOf(decisionOf(2)))).rejects.toThrow('died')
      await late()
      processes.aheadMs = LATER_MS
      await heir.store.recover(0)
      expect(await typesOf(heir, idOf('dec', 2))).toEqual(['decision.created'])
    },
  },
  {
    title: 'the name of a call stays taken, whatever of an earlier try is given back late',
    async run(processes) {
      const [slow, fast] = [await processes.start(), await processes.start()]
      const pens = { slow: await LogPen.of(slow.store), fast: await LogPen.of(fast.store) }
      // The one has looked for conflicts already when the other takes the second name.
      before(slow.database, 'logs', 'updateOne', () => pens.fast.commit(called(3, 'two')))
      const late = comesLate(slow.database, 'claims', 'bulkWrite')
      before(slow.database, 'decisions', 'insertMany', late)
      expect(await pens.slow.commit(called(1, 'one'), called(2, 'two'))).toEqual({
        written: 1,
        conflict: 'idempotency_key',
      })
      expect(await pens.fast.commit(called(4, 'one'))).toEqual({ written: 0, conflict: 'idempotency_key' })
      const found = await fast.store.idempotency.get(idempotencyOf('', { key: 'one' }), instant(0))
      expect(found?.subject).toBe(idOf('dec', 1))
    },
  },
  {
    title: 'what is in doubt is finished by another when its process does not come back to it',
    async run(processes) {
      const [idle, other] = [await processes.start(), await processes.start()]
      const pen = await LogPen.of(other.store)
      fails(idle.database, 'decisions', 'insertMany')
      await expect((await LogPen.of(idle.store)).commit(called(1, 'one'))).rejects.toThrow('died')
      processes.aheadMs = LATER_MS
      // As it does every few seconds.
      await idle.store.renew()
      await other.store.recover(0)
      expect(await pen.commit(called(2, 'one'))).toEqual({ written: 1, conflict: null })
    },
  },
  {
    title: 'what has an intent and then meets a conflict is not in progress any more',
    async run(processes) {
      const [slow, fast] = [await processes.start(), await processes.start()]
      const pens = { slow: await LogPen.of(slow.store), fast: await LogPen.of(fast.store) }
      before(slow.database, 'logs', 'updateOne', () => pens.fast.commit(called(1, 'one')))
      const idempotency = idempotencyOf(policyOf(1, 1).id, { key: 'one' })
      const result = await pens.slow.commit({ change: writePolicyOf(policyOf(1, 1)), idempotency })
      expect(result).toEqual({ written: 0, conflict: 'idempotency_key' })
      expect((await fast.store.replicas.revision()).policies).not.toBeNull()
    },
  },
  {
    title: 'nothing is answered of a record whose place in the log another entry has',
    async run(processes) {
      const { store, database } = await processes.start()
      const pen = await LogPen.of(store)
      const [{ entry } = { entry: null }] = pen.seal([
        { change: createOf(decisionOf(1)), entry: { id: idOf('aud', 9) } },
      ])
      await database.audit.insertOne(auditDocumentOf(entry as NonNullable<typeof entry>))
      await expect(pen.commit(createOf(decisionOf(1)))).rejects.toThrow('Another entry is at')
    },
  },
]
