/**
 * Reads the audit logs of all processes as one, forward. A log has no gaps and its entries are in order of time.
 * Entries of different logs are ordered by time, and never against cause: a later change of a decision does not come
 * before an earlier one, no matter how far the clocks of two processes differ. Only a reader that lags by more than 500
 * entries goes by time alone.
 */
import type { AuditEntry } from '@countersign/contract'
import type { LogEnd, LogPosition } from '../../ports/store/audit.js'
import type { FeedStore, Positions } from '../../ports/store/feed.js'

type LogReads = Pick<FeedStore, 'audit'>

export interface LogPage {
  readonly entries: readonly AuditEntry[]
  /** The positions after the entries. */
  readonly positions: Positions
  /** Missing entries that later entries follow. Their logs are not read further; others are. */
  readonly gaps: readonly LogPosition[]
}

/** How many bytes of one log are read at a time. */
const MAX_BYTES = 1024 * 1024
/**
 * With several logs, this many entries are compared at a time, even if fewer are wanted: a cause is hardly ever further
 * away.
 */
const COMPARED = 500

/** The part of one log that was read. */
interface Tail {
  /** The next unread entry. */
  readonly next: LogPosition
  readonly entries: readonly AuditEntry[]
  /** How many of its unread entries are wanted. The later ones were only read because one of them may be a cause. */
  readonly wanted: number
  /** How many of `entries` are taken. */
  taken: number
}

/** @param limit the most entries to return, over all logs */
export async function readLogs(reads: LogReads, positions: Positions, limit: number): Promise<LogPage> {
  const ends = await reads.audit.listLogs()
  const unread = ends.filter(({ log, next_index }) => (positions[log] ?? 0) < next_index)
  if (unread.length === 0) return { entries: [], positions, gaps: [] }
  // A single log, as on the embedded store, needs no comparison.
  if (ends.length > 1) {
    const tails = await readTails(reads, positions, unread, Math.max(limit, COMPARED))
    const gaps = tails.filter(isGap).map(({ next }) => next)
    return pageOf(positions, merged(tails, limit), gaps)
  }
  const { log, next_index } = unread[0] as LogEnd
  const from = positions[log] ?? 0
  const entries = await reads.audit.read(log, from, Math.min(limit, next_index - from), MAX_BYTES)
  return pageOf(positions, entries, entries.length === 0 ? [{ log, index: from }] : [])
}

/**
 * The cause of an entry was durable before the entry. So the causes of everything that the logs contained at first are
 * all there when each log is read up to its end at a later time.
 */
async function readTails(reads: LogReads, positions: Positions, first: readonly LogEnd[], limit: number) {
  const firstEnds = new Map(first.map(({ log, next_index }) => [log, next_index]))
  const ends = await reads.audit.listLogs()
  const tails = ends.map(async ({ log, next_index }): Promise<Tail> => {
    const from = positions[log] ?? 0
    const wanted = Math.max(0, (firstEnds.get(log) ?? 0) - from)
    const entries = wanted === 0 ? [] : await reads.audit.read(log, from, Math.min(limit, wanted), MAX_BYTES)
    // Few entries arrive in between.
    const later = next_index - from - wanted
    const isWhole = entries.length === wanted && later > 0
    return {
      entries: isWhole ? [...entries, ...(await reads.audit.read(log, from + wanted, later))] : entries,
      wanted,
      taken: 0,
      next: { log, index: from },
    }
  })
  return Promise.all(tails)
}

/** Nothing after a gap can be read. */
function isGap({ entries, wanted }: Tail): boolean {
  return wanted > 0 && entries.length === 0
}

/** Merges the wanted entries of several logs into one order, as far as it is known. */
function merged(tails: readonly Tail[], limit: number): readonly AuditEntry[] {
  const places = placesOf(tails)
  const result: AuditEntry[] = []
  while (result.length < limit) {
    const open = tails.filter((tail) => tail.taken < tail.wanted && !isGap(tail))
    if (open.length === 0 || open.some(({ entries, taken }) => taken === entries.length)) break
    const tail = withoutCause(open.reduce(earlier), places)
    const entry = headOf(tail)
    tail.taken += 1
    places.get(entry.subject)?.delete(versionOf(entry) as number)
    result.push(entry)
  }
  return result
}

/** Returns the tail itself, unless another tail has an unread cause of its next entry: then that one, and so on. */
function withoutCause(tail: Tail, places: ReturnType<typeof placesOf>): Tail {
  const entry = headOf(tail)
  const waiting = places.get(entry.subject)
  const version = versionOf(entry)
  if (version === null || waiting === undefined) return tail
  const first = Math.min(...waiting.keys())
  return first < version ? withoutCause(waiting.get(first) as Tail, places) : tail
}

function earlier(one: Tail, other: Tail): Tail {
  return compare(headOf(one), headOf(other)) <= 0 ? one : other
}

function headOf({ entries, taken }: Tail): AuditEntry {
  return entries[taken] as AuditEntry
}

/** Maps subject and version to the tail that has the entry. */
function placesOf(tails: readonly Tail[]): ReadonlyMap<string, Map<number, Tail>> {
  const places = new Map<string, Map<number, Tail>>()
  for (const tail of tails)
    for (const entry of tail.entries) {
      const version = versionOf(entry)
      if (version === null) continue
      const known = places.get(entry.subject)
      if (known === undefined) places.set(entry.subject, new Map([[version, tail]]))
      else known.set(version, tail)
    }
  return places
}

function compare(one: AuditEntry, other: AuditEntry): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1
  return one.id < other.id ? -1 : 1
}

/**
 * Returns the version number of this change of a decision or policy; null for other objects and for entries of older
 * releases.
 */
export function versionOf({ type, data }: AuditEntry): number | null {
  const isOfDecision = type.startsWith('decision.') || type === 'request.erased'
  const version = isOfDecision ? data.version : type.startsWith('policy.') ? data.revision : null
  return typeof version === 'number' ? version : null
}

function pageOf(positions: Positions, entries: readonly AuditEntry[], gaps: readonly LogPosition[]): LogPage {
  const behind: Record<string, number> = { ...positions }
  for (const { log, index } of entries) behind[log] = index + 1
  return { entries, positions: behind, gaps }
}

/** Returns `positions` moved past one more entry. */
export function behind(positions: Positions, { log, index }: AuditEntry): Positions {
  return { ...positions, [log]: index + 1 }
}

/** Whether `positions` are at or past `ends` in every log. */
export function isAt(positions: Positions, ends: Positions): boolean {
  return Object.entries(ends).every(([log, index]) => (positions[log] ?? 0) >= index)
}

export async function positionsAtEnd(reads: Pick<FeedStore, 'audit'>): Promise<Positions> {
  return Object.fromEntries((await reads.audit.listLogs()).map(({ log, next_index }) => [log, next_index]))
}

/** Returns the positions after every entry that is older than this time. */
export async function positionsAt(reads: LogReads, time: string): Promise<Positions> {
  const ends = await reads.audit.listLogs()
  return Object.fromEntries(
    await Promise.all(ends.map(async (end) => [end.log, await firstSince(reads, end, time)] as const)),
  )
}

/** Returns the first index whose entry is not older than this time: within a log, time never decreases. */
async function firstSince(reads: LogReads, { log, next_index }: LogEnd, time: string): Promise<number> {
  let [low, high] = [0, next_index]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [entry] = await reads.audit.read(log, middle, 1)
    if (entry !== undefined && entry.at < time) low = middle + 1
    else high = middle
  }
  return low
}
