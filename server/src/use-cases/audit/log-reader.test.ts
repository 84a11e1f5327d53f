import type { AuditEntry } from '@countersign/contract'
import { drawsOf, SEED, seededRandom, stress } from '@countersign/testkit'
import { expect, it } from 'vitest'
import type { Positions } from '../../ports/store/feed.js'
import { behind, positionsAt, positionsAtEnd, readLogs, versionOf } from './log-reader.js'

const SUBJECTS = 6
const ENTRIES = 60
const MAX_SKEW_MS = 5000

/** Several processes that write logs, each by a clock of its own. */
class Processes {
  readonly logs = new Map<string, AuditEntry[]>()
  readonly #versions = new Map<string, number>()
  readonly #skews = new Map<string, number>()
  written = 0

  constructor(
    readonly random: () => number,
    count: number,
  ) {
    for (let i = 0; i < count; i += 1) this.#skews.set(`log${i}`, Math.floor(random() * MAX_SKEW_MS))
  }

  /** The next change of some object, by some process. Its writer has seen the one before. */
  write(): void {
    const names = [...this.#skews.keys()]
    const log = names[Math.floor(this.random() * names.length)] as string
    const subject = `dec_${Math.floor(this.random() * SUBJECTS)}`
    const version = (this.#versions.get(subject) ?? 0) + 1
    this.#versions.set(subject, version)
    const entries = this.logs.get(log) ?? []
    this.logs.set(log, entries)
    const at = new Date(10 * this.written + (this.#skews.get(log) as number)).toISOString()
    const id = `aud_${String(this.written).padStart(6, '0')}`
    this.written += 1
    const entry = { id, log, index: entries.length, at, type: 'decision.confirmed', subject, data: { version } }
    entries.push(entry as unknown as AuditEntry)
  }

  /** Something may be written whenever the reader asks for anything. */
  reads(mayWrite: () => void) {
    const listLogs = async () => {
      mayWrite()
      return [...this.logs].map(([log, entries]) => ({ log, next_index: entries.length }))
    }
    const read = async (log: string, from: number, limit: number) => {
      mayWrite()
      return (this.logs.get(log) ?? []).slice(from, from + limit)
    }
    return { audit: { listLogs, read } }
  }
}

it('gives each entry of all logs once, and the changes of one object in order, while processes write', async () => {
  const random = seededRandom(SEED)
  for (let run = 0; run < drawsOf(stress.log_merges); run += 1) {
    const processes = new Processes(random, 1 + Math.floor(random() * 4))
    const reads = processes.reads(() => {
      while (processes.written < ENTRIES && random() < 0.5) processes.write()
    })
    const seen: AuditEntry[] = []
    let positions: Positions = {}
    while (seen.length < ENTRIES) {
      const page = await readLogs(reads, positions, 1 + Math.floor(random() * 20))
      expect(page.entries.reduce(behind, positions)).toEqual(page.positions)
      seen.push(...page.entries)
      positions = page.positions
      if (processes.written < ENTRIES) processes.write()
      else if (page.entries.length === 0) break
    }
    expect(new Set(seen.map(({ id }) => id)).size, `seed ${SEED}, run ${run}`).toBe(ENTRIES)
    expect(seen).toHaveLength(ENTRIES)
    for (const subject of new Set(seen.map((entry) => entry.subject))) {
      const versions = seen.filter((entry) => entry.subject === subject).map(versionOf)
      expect(versions, `seed ${SEED}, run ${run}`).toEqual(versions.map((_, i) => i + 1))
    }
  }
})

it('finds the positions of a time and of the end', async () => {
  const processes = new Processes(seededRandom(SEED), 3)
  for (let i = 0; i < ENTRIES; i += 1) processes.write()
  const reads = processes.reads(() => {})
  const ends = [...processes.logs].map(([log, { length }]) => [log, length])
  expect(await positionsAtEnd(reads)).toEqual(Object.fromEntries(ends))
  for (const time of ['1970-01-01T00:00:00.000Z', new Date(3000).toISOString(), '1970-01-02T00:00:00.000Z']) {
    const older = [...processes.logs].map(([log, entries]) => [log, entries.filter(({ at }) => at < time).length])
    expect(await positionsAt(reads, time)).toEqual(Object.fromEntries(older))
  }
})
