import type { AuditEntry } from '@countersign/contract'
import { SEED, seededRandom, stress } from '@countersign/testkit'
import { expect, it } from 'vitest'
import { type FollowStart, followLogs } from './follow.js'

/** The logs of several processes. Each shows its entries late, by a delay of its own. */
class Logs {
  readonly written: AuditEntry[][]
  readonly shown: number[]

  constructor(count: number) {
    this.written = Array.from({ length: count }, () => [])
    this.shown = this.written.map(() => 0)
  }

  get all(): AuditEntry[] {
    return this.written.flat()
  }

  write(log: number): void {
    const number = this.all.length
    const entries = this.written[log] as AuditEntry[]
    const type = number % 3 === 0 ? 'key.created' : 'agent.created'
    const place = { log: `log${log}`, index: entries.length, at: new Date(10 * number).toISOString() }
    entries.push({ id: `aud_${number}`, ...place, type, subject: `sub_${number}`, data: {} } as unknown as AuditEntry)
  }

  show(log: number, to = this.written[log]?.length as number): void {
    this.shown[log] = Math.max(this.shown[log] as number, to)
  }

  readonly audit = {
    listLogs: async () =>
      this.shown.map((next_index, i) => ({ log: `log${i}`, next_index })).filter(({ next_index }) => next_index > 0),
    read: async (log: string, from: number, limit: number) => {
      const i = Number(log.slice('log'.length))
      return (this.written[i] ?? []).slice(from, Math.min(from + limit, this.shown[i] as number))
    },
  }
}

const page = (limit: number) => ({ limit, after: null })

it('skips nothing and repeats nothing, whichever log shows its entries late or begins late', async () => {
  const random = seededRandom(SEED)
  const pick = (count: number) => Math.floor(random() * count)
  for (let run = 0; run < stress.log_merges / 10; run += 1) {
    const logs = new Logs(1 + pick(4))
    const filter = random() < 0.5 ? {} : { type: 'key.created' }
    const seen: AuditEntry[] = []
    let start: FollowStart = 'oldest'
    const read = async () => {
      const { items, positions } = await followLogs(logs, start, filter, page(1 + pick(8)))
      seen.push(...items)
      const isAtEnd = JSON.stringify(positions) === JSON.stringify(start)
      start = positions
      return isAtEnd
    }
    for (let step = 0; step < 60; step += 1) {
      const log = pick(logs.written.length)
      logs.write(log)
      if (random() < 0.4) logs.show(log, pick((logs.written[log] as AuditEntry[]).length + 1))
      if (random() < 0.3) await read()
    }
    for (const [log] of logs.written.entries()) logs.show(log)
    for (let isAtEnd = false; !isAtEnd; ) isAtEnd = await read()
    const wanted = logs.all.filter(({ type }) => filter.type === undefined || type === filter.type)
    const idsOf = (entries: readonly AuditEntry[], log: string) =>
      entries.filter((entry) => entry.log === log).map(({ id }) => id)
    expect(seen).toHaveLength(wanted.length)
    for (const { log } of wanted) expect(idsOf(seen, log)).toEqual(idsOf(wanted, log))
  }
})

function written(entries: number): Logs {
  const logs = new Logs(2)
  for (let i = 0; i < entries; i += 1) logs.write(0)
  logs.show(0)
  return logs
}

it('ends a page before the entry that would make it too large, and never before the first', async () => {
  const logs = written(10)
  const bytes = JSON.stringify(logs.all.at(-1)).length
  const few = await followLogs(logs, 'oldest', {}, { ...page(10), maxBytes: 3.5 * bytes })
  expect(few.items).toHaveLength(3)
  expect(few.positions).toEqual({ log0: 3 })
  const one = await followLogs(logs, { log0: 4 }, {}, { ...page(10), maxBytes: 1 })
  expect(one.items.map(({ index }) => index)).toEqual([4])
  expect(one.positions).toEqual({ log0: 5 })
})

it('begins with `from` at the first entry that is not older, without the entries before it', async () => {
  const logs = written(1_000)
  const reads: number[] = []
  const read: typeof logs.audit.read = (log, from, limit) => {
    reads.push(limit)
    return logs.audit.read(log, from, limit)
  }
  const counted = { audit: { ...logs.audit, read } }
  const { items } = await followLogs(counted, 'oldest', { from: new Date(9_900).toISOString() }, page(5))
  expect(items.map(({ index }) => index)).toEqual([990, 991, 992, 993, 994])
  expect(reads.reduce((sum, one) => sum + one, 0)).toBeLessThan(300)
})

it('refuses a cursor behind entries that the log no longer has', async () => {
  await expect(followLogs(written(3), { log0: 4 }, {}, page(5))).rejects.toMatchObject({
    code: 'invalid_cursor',
    detail: expect.stringContaining('entry 3 of the audit log log0, which has 3 entries now'),
  })
  await expect(followLogs(written(3), { gone: 1 }, {}, page(5))).rejects.toMatchObject({ code: 'invalid_cursor' })
  expect((await followLogs(written(3), { log0: 3 }, {}, page(5))).items).toEqual([])
})

it('names an entry that is missing, and gives what comes before it', async () => {
  const logs = written(5)
  const { audit } = logs
  const read: typeof audit.read = async (log, from, limit) => {
    const found = await audit.read(log, from, limit)
    const gap = found.findIndex(({ index }) => index === 2)
    return gap === -1 ? found : found.slice(0, gap)
  }
  const damaged = { audit: { ...audit, read } }
  const before = await followLogs(damaged, 'oldest', {}, page(5))
  expect(before.items.map(({ index }) => index)).toEqual([0, 1])
  await expect(followLogs(damaged, before.positions, {}, page(5))).rejects.toMatchObject({
    code: 'store_unavailable',
    detail: expect.stringContaining('entry 2 of the audit log log0'),
  })
})
