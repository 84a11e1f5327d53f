import type { AuditEntry } from '@countersign/contract'
import { SEED, seededRandom, stress } from '@countersign/testkit'
import { expect, it } from 'vitest'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import { type FollowStart, followLogs, type LogPlaces } from './follow.js'

const leafOf = (number: number) => `${number}.`.padEnd(43, 'L')

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
    const id = `aud_${number}`
    const leaf = leafOf(number)
    entries.push({ id, ...place, type, subject: `sub_${number}`, data: {}, leaf } as unknown as AuditEntry)
  }

  show(log: number, to = this.written[log]?.length as number): void {
    this.shown[log] = Math.max(this.shown[log] as number, to)
  }

  async ping(): Promise<void> {}

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

/** In a log whose entries were all written one after another. */
const placeAt = (next: number): LogPlaces => ({
  log0: { next_index: next, leaf: leafOf(next - 1).slice(0, 22) },
})

it('skips nothing and repeats nothing, whichever log shows its entries late or begins late', async () => {
  const random = seededRandom(SEED)
  const pick = (count: number) => Math.floor(random() * count)
  for (let run = 0; run < stress.log_merges / 10; run += 1) {
    const logs = new Logs(1 + pick(4))
    const filter = random() < 0.5 ? {} : { type: 'key.created' }
    const seen: AuditEntry[] = []
    let start: FollowStart = 'oldest'
    const read = async () => {
      const { items, places } = await followLogs({ store: logs }, start, filter, page(1 + pick(8)))
      seen.push(...items)
      const isAtEnd = JSON.stringify(places) === JSON.stringify(start)
      start = places
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
  const few = await followLogs({ store: logs }, 'oldest', {}, { ...page(10), maxBytes: 3.5 * bytes })
  expect(few.items).toHaveLength(3)
  expect(few.places).toEqual(placeAt(3))
  const one = await followLogs({ store: logs }, placeAt(4), {}, { ...page(10), maxBytes: 1 })
  expect(one.items.map(({ index }) => index)).toEqual([4])
  expect(one.places).toEqual(placeAt(5))
})

it('begins with `from` at the first entry that is not older, without the entries before it', async () => {
  const logs = written(1_000)
  const reads: number[] = []
  const read: typeof logs.audit.read = (log, from, limit) => {
    reads.push(limit)
    return logs.audit.read(log, from, limit)
  }
  const store = { ping: logs.ping, audit: { ...logs.audit, read } }
  const { items } = await followLogs({ store }, 'oldest', { from: new Date(9_900).toISOString() }, page(5))
  expect(items.map(({ index }) => index)).toEqual([990, 991, 992, 993, 994])
  expect(reads.reduce((sum, one) => sum + one, 0)).toBeLessThan(300)
})

it('refuses a cursor behind entries that the log no longer has, or has others for', async () => {
  const store = written(3)
  await expect(followLogs({ store }, placeAt(4), {}, page(5))).rejects.toMatchObject({
    code: 'invalid_cursor',
    detail: expect.stringContaining('entry 3 of the audit log log0, which has 3 entries now'),
  })
  const gone = { gone: { next_index: 1, leaf: leafOf(0).slice(0, 22) } }
  await expect(followLogs({ store }, gone, {}, page(5))).rejects.toMatchObject({ code: 'invalid_cursor' })
  const other = { log0: { next_index: 2, leaf: leafOf(9).slice(0, 22) } }
  await expect(followLogs({ store }, other, {}, page(5))).rejects.toMatchObject({
    code: 'invalid_cursor',
    detail: expect.stringContaining('Entry 1 of the audit log log0 is not the one that was read'),
  })
  expect((await followLogs({ store }, placeAt(3), {}, page(5))).items).toEqual([])
})

it('names an entry that is missing, and gives what comes before it', async () => {
  const logs = written(5)
  const { audit } = logs
  const read: typeof audit.read = async (log, from, limit) => {
    const found = await audit.read(log, from, limit)
    const gap = found.findIndex(({ index }) => index === 2)
    return gap === -1 ? found : found.slice(0, gap)
  }
  const store = { ping: logs.ping, audit: { ...audit, read } }
  const before = await followLogs({ store }, 'oldest', {}, page(5))
  expect(before.items.map(({ index }) => index)).toEqual([0, 1])
  for (const start of [before.places, placeAt(3)])
    await expect(followLogs({ store }, start, {}, page(5))).rejects.toMatchObject({
      code: 'store_unavailable',
      detail: expect.stringContaining('entry 2 of the audit log log0'),
    })
})

/** A server that has just become the primary: it shows the newest entries only after a write. */
function newPrimary({ canWrite }: { readonly canWrite: boolean }) {
  const logs = new Logs(1)
  for (let i = 0; i < 5; i += 1) logs.write(0)
  logs.show(0, 2)
  const ping = async () => {
    if (!canWrite) throw new StoreUnavailableError('No majority.')
    logs.show(0)
  }
  return { audit: logs.audit, ping }
}

it('goes on behind entries that a new primary does not show yet, and never takes them for lost', async () => {
  const { items } = await followLogs({ store: newPrimary({ canWrite: true }) }, placeAt(4), {}, page(5))
  expect(items.map(({ index }) => index)).toEqual([4])
  const cut = followLogs({ store: newPrimary({ canWrite: false }) }, placeAt(4), {}, page(5))
  await expect(cut).rejects.toThrow(StoreUnavailableError)
})
