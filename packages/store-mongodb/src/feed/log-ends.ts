import type { LogEnd } from '@countersign/store-port/feed'
import type { Filter } from 'mongodb'
import { auditId } from '../collections/audit.js'
import type { Database } from '../connection/database.js'
import type { LogDocument } from '../stored.js'

/** What follows `/`, which ends the name of a log in the ids of its entries. */
const BEHIND_SLASH = '0'
/** So many indexes are looked for at a time: each look leaves one of so many parts of the range. */
const PROBES = 64

/**
 * The ends of all logs. Names are skipped from one to the next, so the work does not grow with the entries: it is a few looks
 * for each log. Most logs have a document, which says what was whole at its last group. One without is written no more.
 */
export class LogEnds {
  /** By the names of logs without a document: each index below is filled. */
  readonly #filled = new Map<string, number>()

  constructor(private readonly database: Database) {}

  async list(): Promise<readonly LogEnd[]> {
    // Before the entries: what is written later is found behind its log's last group.
    const documents = await this.#documents({})
    const others = await this.#findOthers(documents.map(({ _id }) => _id))
    // One of them may have been begun since: what is there of its group may have gaps.
    const begun = others.length === 0 ? [] : await this.#documents({ _id: { $in: [...others] } })
    const whole = others.filter((log) => !begun.some(({ _id }) => _id === log))
    const ends = await Promise.all([
      ...[...documents, ...begun].map(async ({ _id, start, group }) => ({
        log: _id,
        next_index: await this.#behind(_id, start, group.length),
      })),
      ...whole.map(async (log) => ({ log, next_index: await this.#search(log) })),
    ])
    return ends.filter(({ next_index }) => next_index > 0).sort((one, other) => (one.log < other.log ? -1 : 1))
  }

  #documents(filter: Filter<LogDocument>): Promise<readonly Pick<LogDocument, '_id' | 'start' | 'group'>[]> {
    return this.database.call(() =>
      this.database.logs
        .find(filter)
        .project<Pick<LogDocument, '_id' | 'start' | 'group'>>({ start: 1, group: 1 })
        .toArray(),
    )
  }

  /** The end of a log of which all is there below `start`, and some of the group behind it. */
  async #behind(log: string, start: number, length: number): Promise<number> {
    const indexes = [...Array(length).keys()].map((i) => start + i)
    const there = await this.#thereOf(log, indexes)
    return indexes.find((index) => !there.has(index)) ?? start + length
  }

  /** The logs that have entries besides these. */
  async #findOthers(known: readonly string[]): Promise<readonly string[]> {
    // In the order of the ids of their entries.
    const bounds = known.map((log) => `${log}/`).sort()
    const gaps = [...bounds.keys(), bounds.length].map((i) => ({
      from: i === 0 ? '' : behind(bounds[i - 1] as string),
      to: bounds[i] ?? null,
    }))
    return (await Promise.all(gaps.map(({ from, to }) => this.#between(from, to)))).flat()
  }

  async #between(from: string, to: string | null): Promise<readonly string[]> {
    const logs: string[] = []
    for (let next = from; ; ) {
      const range = { $gte: next, ...(to !== null && { $lt: to }) }
      const found = await this.database.call(() =>
        this.database.audit.findOne({ _id: range }, { sort: { _id: 1 }, projection: { log: 1 } }),
      )
      if (found === null) return logs
      logs.push(found.log)
      next = behind(`${found.log}/`)
    }
  }

  /** The end of a log without a gap. */
  async #search(log: string): Promise<number> {
    let filled = this.#filled.get(log) ?? 0
    let free = Number.MAX_SAFE_INTEGER
    while (filled < free) {
      const probes = probesOf(filled, free)
      const there = await this.#thereOf(log, probes)
      for (const index of probes) {
        if (there.has(index)) filled = Math.max(filled, index + 1)
        else free = Math.min(free, index)
      }
    }
    this.#filled.set(log, filled)
    return filled
  }

  async #thereOf(log: string, indexes: readonly number[]): Promise<ReadonlySet<number>> {
    if (indexes.length === 0) return new Set()
    const ids = indexes.map((index) => auditId({ log, index }))
    const found = await this.database.call(() =>
      this.database.audit
        .find({ _id: { $in: ids } })
        .project<{ index: number }>({ index: 1 })
        .toArray(),
    )
    return new Set(found.map(({ index }) => index))
  }
}

/** The least id that is behind all that begin so; `start` ends with a slash. */
function behind(start: string): string {
  return start.slice(0, -1) + BEHIND_SLASH
}

/** Indexes from `filled` on and below `free`: close together at first, and as the range narrows, all of it. */
function probesOf(filled: number, free: number): readonly number[] {
  if (free === Number.MAX_SAFE_INTEGER) return [...Array(52).keys()].map((power) => filled + 2 ** power - 1)
  const step = Math.max(1, Math.ceil((free - filled) / PROBES))
  return [...Array(Math.ceil((free - filled) / step)).keys()].map((i) => filled + i * step)
}
