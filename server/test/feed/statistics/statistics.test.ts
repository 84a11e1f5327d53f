/** The counts are those of every entry once, whatever crashes and whichever process goes on. */
import { type JsonObject, STATS_GROUPS, STATS_INTERVALS } from '@countersign/contract'
import { drawsOf, SEED, seededRandom } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Statistics } from '#server/feed/statistics/statistics'
import { FROZEN } from '../../running-server.js'
import { CountedLogs, type SaveEnd } from './counted-logs.js'
import { expectCounted } from './naive-count.js'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

let logs: CountedLogs
beforeEach(async () => {
  logs = await CountedLogs.open()
})
afterEach(() => logs.close())

const created = (over: JsonObject = {}): JsonObject => {
  return { effect: 'allow', action: 'mail.send', policy_id: 'pol_1', latency_ms: 0.1, budgets: [], ...over }
}
/** A save that fails is for the next turn. */
const orFails = (work: Promise<void>) => work.catch(() => {})
const ALL = { from: new Date(FROZEN.getTime() - 30 * MINUTE_MS).toISOString(), interval: 'minute' } as const

describe('random decisions and transitions', () => {
  it('are counted once each, over crashes in the middle of a save, lost answers and other processes', async () => {
    const random = seededRandom(SEED)
    const below = (end: number) => Math.floor(random() * end)
    const oneOf = <T>(items: readonly T[]): T => items[below(items.length)] as T
    for (let draw = 0; draw < drawsOf(5); draw += 1) {
      await logs.close()
      logs = await CountedLogs.open()
      logs.random = random
      const names = ['log0', 'log1', 'log2'].slice(0, 1 + below(3))
      const write = () => {
        const budgets = Array.from({ length: below(3) }, (_, i) => {
          return { policy_id: `pol_${i}`, unit: 'EUR', amount: below(1e9) / 1e6, reserved: random() < 0.7 }
        })
        if (random() < 0.6)
          logs.write(
            oneOf(names),
            'decision.created',
            `agent:${below(5)}`,
            created({
              effect: oneOf(['allow', 'deny', 'review', 'log']),
              action: oneOf(['mail.send', 'pay.create', 'file.read']),
              policy_id: oneOf(['pol_0', 'pol_1', null]),
              budgets,
              ...(random() < 0.9 ? { latency_ms: (1 + below(1e6)) / 1000 } : { latency_ms: null }),
            }),
          )
        else if (random() < 0.3) logs.write(oneOf(names), 'decision.approved', 'agent:1', { budgets })
        else {
          const committed = budgets.map(({ policy_id, unit, amount }) => {
            return { policy_id, unit, amount, was: below(1e9) / 1e6, reserved: below(1e9) / 1e6 }
          })
          logs.write(oneOf(names), oneOf(['decision.confirmed', 'decision.corrected', 'decision.expired']), 'agent:1', {
            committed,
          })
        }
      }
      let process: Statistics = logs.newProcess()
      for (let step = 0; step < 40; step += 1) {
        for (let left = below(30); left > 0; left -= 1) {
          write()
          if (random() < 0.1) logs.nowMs += below(40 * MINUTE_MS)
        }
        logs.saveEnds.splice(
          0,
          9,
          ...Array.from({ length: 2 }, () => oneOf<SaveEnd>(['as it should', 'torn', 'unanswered'])),
        )
        logs.monotonicMs += below(600)
        await orFails(random() < 0.7 ? process.turn() : process.catchUp())
        if (random() < 0.2) {
          await logs.endLease()
          const before = process
          process = logs.newProcess()
          if (random() < 0.7) await orFails(process.turn())
          // It was frozen, and does not know that another one counts now.
          if (random() < 0.5) await orFails(before.catchUp())
        }
      }
      logs.saveEnds.length = 0
      await logs.endLease()
      await logs.newProcess().catchUp()
      const [first, last] = [logs.entries[0]?.at as string, logs.entries.at(-1)?.at as string]
      for (const interval of STATS_INTERVALS)
        for (const group of [null, ...STATS_GROUPS]) {
          const to = new Date(Date.parse(last) + 1).toISOString()
          const from = interval === 'minute' ? new Date(Date.parse(to) - 1000 * MINUTE_MS).toISOString() : first
          const query = { from, to, interval, group }
          const found = await logs.answer({ from, to, interval, ...(group !== null && { group }) })
          expect(found.uncounted_entries).toBe(0)
          expectCounted(found, logs.entries, query)
        }
    }
  })
})

describe('a turn', () => {
  it('saves a quarter of a second after the last save at the earliest', async () => {
    const process = logs.newProcess()
    for (let i = 0; i < 10; i += 1) {
      logs.write('log0', 'decision.created', 'agent:a', created())
      await process.turn()
      logs.monotonicMs += 100
    }
    expect(logs.saves).toBe(4)
    logs.write('log0', 'decision.created', 'agent:a', created())
    await process.turn()
    expect(await logs.answer(ALL)).toMatchObject({ total: { decisions: 10 }, incomplete: true, uncounted_entries: 1 })
    // Not how much others do, to whom it may not see.
    const bound = await logs.answer(ALL, { agents: ['agent:b'] })
    expect(bound).toMatchObject({ total: { decisions: 0 }, incomplete: true, uncounted_entries: null })
    for (let i = 0; i < 2; i += 1) await process.catchUp()
    expect(await logs.answer(ALL)).toMatchObject({ total: { decisions: 11 }, incomplete: false, uncounted_entries: 0 })
    expect(logs.saves).toBe(5)
  })

  it('does nothing while another process has the reader', async () => {
    logs.write('log0', 'decision.created', 'agent:a', created())
    await logs.newProcess().catchUp()
    const other = logs.newProcess()
    logs.write('log0', 'decision.created', 'agent:a', created())
    await other.turn()
    await other.catchUp()
    expect(await logs.answer(ALL)).toMatchObject({ total: { decisions: 1 }, uncounted_entries: 1 })
  })

  it('removes minutes after 7 days and hours after 400, and keeps days', async () => {
    const process = logs.newProcess()
    const counted = async (interval: 'minute' | 'hour' | 'day') => {
      const [from, to] = [FROZEN.toISOString(), new Date(FROZEN.getTime() + 1).toISOString()]
      return (await logs.answer({ from, to, interval })).total.decisions
    }
    logs.write('log0', 'decision.created', 'agent:a', created())
    for (const [days, minutes, hours] of [
      [7, 1, 1],
      [1, 0, 1],
      [392, 0, 1],
      [1, 0, 0],
    ] as const) {
      logs.nowMs += days * DAY_MS
      logs.monotonicMs += MINUTE_MS
      for (let turn = 0; turn < 30; turn += 1) await process.turn()
      expect([await counted('minute'), await counted('hour'), await counted('day')]).toEqual([minutes, hours, 1])
    }
  })
})

describe('values that agents invent', () => {
  it('are named up to 1,000 in a bucket, and then counted together, over torn saves', async () => {
    logs.random = seededRandom(SEED)
    for (let i = 0; i < 1200; i += 1) logs.write('log0', 'decision.created', `agent:${i}`, created())
    for (let i = 0; i < 1200; i += 1) logs.write('log0', 'decision.created', `agent:${i}`, created())
    logs.saveEnds.push('torn', 'as it should', 'torn', 'unanswered', 'torn', 'torn', 'as it should', 'torn')
    let process = logs.newProcess()
    while (logs.saveEnds.length > 0) {
      await orFails(process.catchUp())
      await logs.endLease()
      process = logs.newProcess()
    }
    await process.catchUp()
    const found = await logs.answer({ ...ALL, group: 'agent' })
    const named = found.data.filter(({ value }) => value !== null)
    expect(named).toHaveLength(50)
    expect(named.every(({ decisions }) => decisions === 2)).toBe(true)
    expect(found.data.filter(({ value }) => value === null)).toMatchObject([{ decisions: 2300 }])
    expect(found.total.decisions).toBe(2400)
    const bound = await logs.answer(ALL, { agents: ['agent:*'] })
    expect(bound.total.decisions).toBe(2000)
    // Some of those that were left out may be agents of this key. Who sees all of them together lacks none.
    expect([bound.incomplete, found.incomplete, (await logs.answer(ALL)).incomplete]).toEqual([true, false, false])
  })

  it('are counted once each, when a crash comes while the last places are taken and another order after it', async () => {
    logs.random = seededRandom(SEED)
    logs.nowMs -= DAY_MS
    logs.write('log1', 'policy.created', null, {})
    const rounds = [{ goodSaves: 0, others: 1000 }, ...[1, 2, 3, 4, 3].map((goodSaves) => ({ goodSaves, others: 20 }))]
    for (const [round, { goodSaves, others }] of rounds.entries()) {
      logs.nowMs = FROZEN.getTime() + (60 * round + 0.5) * MINUTE_MS
      for (let i = 0; i < 1005; i += 1) logs.write('log0', 'decision.created', `agent:${i}`, created())
      logs.saveEnds.push(...Array.from({ length: goodSaves }, (): SaveEnd => 'as it should'), 'torn')
      await orFails(logs.newProcess().catchUp())
      await logs.endLease()
      // Made before, but durable only now.
      logs.nowMs -= 1
      for (let i = 0; i < others; i += 1) logs.write('log1', 'decision.created', `agent:other${i}`, created())
      logs.nowMs += 1
      logs.saveEnds.length = 0
      await logs.newProcess().catchUp()
      await logs.endLease()
      const [from, to] = [new Date(logs.nowMs - 1).toISOString(), new Date(logs.nowMs + 1).toISOString()]
      for (const interval of STATS_INTERVALS) {
        const { total } = await logs.answer({ from, to, interval, group: 'agent' })
        expect(total.decisions).toBe((await logs.answer({ from, to, interval })).total.decisions)
      }
    }
  })

  it('get an id of bounded length, and their own count', async () => {
    const long = (end: string) => 'a'.repeat(5000) + end
    for (const end of ['1', '2', '2']) logs.write('log0', 'decision.created', 'agent:a', created({ action: long(end) }))
    await logs.newProcess().catchUp()
    const { data } = await logs.answer({ ...ALL, group: 'action' })
    expect(data).toMatchObject([
      { value: long('2'), decisions: 2 },
      { value: long('1'), decisions: 1 },
    ])
  })
})

describe('a log of years', () => {
  it('is recounted with a bounded number of buckets in memory, and entries far apart find theirs again', async () => {
    logs.nowMs = FROZEN.getTime() - 6 * DAY_MS
    for (let i = 0; i < 5000; i += 1) {
      logs.write('log0', 'decision.created', 'agent:a', created())
      logs.nowMs += MINUTE_MS
    }
    logs.nowMs = FROZEN.getTime() - 6 * DAY_MS
    logs.write('log1', 'decision.created', 'agent:a', created())
    logs.nowMs = FROZEN.getTime()
    await logs.newProcess().catchUp()
    const query = { from: new Date(FROZEN.getTime() - 7 * DAY_MS).toISOString(), to: FROZEN.toISOString() }
    const found = await logs.answer({ ...query, interval: 'hour', group: 'agent' })
    expectCounted(found, logs.entries, { ...query, interval: 'hour', group: 'agent' })
  })
})
