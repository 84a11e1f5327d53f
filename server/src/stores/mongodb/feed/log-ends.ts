import type { Filter } from 'mongodb'
import type { LogEnd } from '../../../ports/store/audit.js'
import { auditId } from '../collections/audit.js'
import type { Database } from '../connection/database.js'
import type { LogDocument } from '../stored.js'

/** The character after `/`, which ends the name of a log in the ids of its entries. */
const BEHIND_SLASH = '0'
/** The number of indexes that are probed at a time: each round narrows the range by that factor. */
const PROBES = 64

/**
 * Finds the ends of all logs. It skips from one log name to the next, so the work is a few reads per log and does not
 * grow with the entries. Most logs have a document that says what was complete at its last group. A log without one is
 * no longer written.
 */
export class LogEnds {
  /** By the names of logs without a document: each index below is filled. */
  readonly #filled = new Map<string, number>()

  constructor(private readonly database: Database) {}

  async list(): Promise<readonly LogEnd[]> {
    // Read before the entries: later entries are found after the log's last group.
    const documents = await this.#documents({})
    const others = await this.#findOthers(documents.map(({ _id }) => _id))
    // One of these logs may have been started since: the entries of its group may have gaps.
    const begun = others.length === 0 ? [] : await this.#documents({ _id: { $in: [...others] } })
    const whole = others.filter((log) => !begun.some(({ _id }) => _id === log))
    const ends = await Promise.all([
      ...[...documents, ...begun].map(async ({ _id, start, group }) => ({
        log: _id,
        next_index: await this.#behind(_id, start, group.length),
      })),
      ...whole.map(async (log) => ({ log, next_index: await this.#search(log) })),
    ])
    const followed = await this.#withFollowing(ends)
    return followed.filter(({ next_index }) => next_index > 0).sort((one, other) => (one.log < other.log ? -1 : 1))
  }

  /**
   * An edited document may name an end before the last entries: entries that follow without a gap belong to the log.
   */
  async #withFollowing(ends: readonly LogEnd[]): Promise<readonly LogEnd[]> {
    const there = await this.#idsThere(ends.map(({ log, next_index }) => auditId({ log, index: next_index })))
    return Promise.all(
      ends.map(async (end) => {
        const hasMore = there.has(auditId({ log: end.log, index: end.next_index }))
        return hasMore ? { ...end, next_index: await this.#firstMissing(end.log, end.next_index + 1) } : end
      }),
    )
  }

  async #firstMissing(log: string, from: number): Promise<number> {
    const end = await this.#behind(log, from, PROBES)
    return end < from + PROBES ? end : this.#firstMissing(log, end)
  }

  #documents(filter: Filter<LogDocument>): Promise<readonly Pick<LogDocument, '_id' | 'start' | 'group'>[]> {
    return this.database.call(() =>
      this.database.logs
        .find(filter)
        .project<Pick<LogDocument, '_id' | 'start' | 'group'>>({ start: 1, group: 1 })
        .toArray(),
    )
  }

  /** Finds the end of a log that is complete below `start` and has part of the group after it. */
  async #behind(log: string, start: number, length: number): Promise<number> {
    const indexes = [...Array(length).keys()].map((i) => start + i)
    const there = await this.#thereOf(log, indexes)
    return indexes.find((index) => !there.has(index)) ?? start + length
  }

  /** Finds the logs with entries besides these. */
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

  /** Finds the end of a log without a gap. */
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
    const there = await this.#idsThere(indexes.map((index) => auditId({ log, index })))
    return new Set(indexes.filter((index) => there.has(auditId({ log, index }))))
  }

  async #idsThere(ids: readonly string[]): Promise<ReadonlySet<string>> {
    if (ids.length === 0) return new Set()
    return new Set((await this.database.findByIds(this.database.audit, ids, [])).keys())
  }
}

/** Returns the smallest id after all ids with this prefix; `start` ends with a slash. */
function behind(start: string): string {
  return start.slice(0, -1) + BEHIND_SLASH
}

/**
 * Returns indexes from `filled` on and below `free`: close together at first, and all of them once the range is small.
 */
function probesOf(filled: number, free: number): readonly number[] {
  if (free === Number.MAX_SAFE_INTEGER) return [...Array(52).keys()].map((power) => filled + 2 ** power - 1)
  const step = Math.max(1, Math.ceil((free - filled) / PROBES))
  return [...Array(Math.ceil((free - filled) / step)).keys()].map((i) => filled + i * step)
}
