/**
 * Reads the audit logs of all processes as one, forward. A log is gapless and its entries are in order of time. Between two
 * logs the order is that of time, and not against cause: a later change of a decision does not come before an earlier one,
 * however far the clocks of two processes are apart. Only a reader that is more than 500 entries behind goes by time alone.
 */
import type { AuditEntry } from '@countersign/contract'
import type { FeedReads, LogEnd, Positions } from '@countersign/store-port/feed'

type LogReads = Pick<FeedReads, 'listLogs' | 'readLog'>

export interface LogPage {
  readonly entries: readonly AuditEntry[]
  /** Behind the entries. */
  readonly positions: Positions
}

/** So much of one log is read at a time. */
const MAX_BYTES = 1024 * 1024
/** Of several logs so many entries are compared at a time, however few are wanted: a cause is hardly ever further away. */
const COMPARED = 500

/** What was read of one log. */
interface Tail {
  readonly entries: readonly AuditEntry[]
  /** So many of its unread entries are wanted. Those behind are here only because one of them may be a cause. */
  readonly wanted: number
  /** How many of `entries` are taken. */
  taken: number
}

/** @param limit at most so many entries, of all logs together */
export async function readLogs(reads: LogReads, positions: Positions, limit: number): Promise<LogPage> {
  const ends = await reads.listLogs()
  const unread = ends.filter(({ log, next_index }) => (positions[log] ?? 0) < next_index)
  if (unread.length === 0) return { entries: [], positions }
  // One log alone needs no comparison. It is all there is on the embedded store.
  if (ends.length > 1)
    return pageOf(positions, merged(await readTails(reads, positions, unread, Math.max(limit, COMPARED)), limit))
  const { log, next_index } = unread[0] as LogEnd
  const from = positions[log] ?? 0
  return pageOf(positions, await reads.readLog(log, from, Math.min(limit, next_index - from), MAX_BYTES))
}

/**
 * What caused an entry was durable before it. So of all that the logs held at first, every cause is there when each log is
 * read up to its end of a later moment.
 */
async function readTails(reads: LogReads, positions: Positions, first: readonly LogEnd[], limit: number) {
  const firstEnds = new Map(first.map(({ log, next_index }) => [log, next_index]))
  const ends = await reads.listLogs()
  const tails = ends.map(async ({ log, next_index }): Promise<Tail> => {
    const from = positions[log] ?? 0
    const wanted = Math.max(0, (firstEnds.get(log) ?? 0) - from)
    const entries = wanted === 0 ? [] : await reads.readLog(log, from, Math.min(limit, wanted), MAX_BYTES)
    // What came meanwhile is little.
    const later = next_index - from - wanted
    const isWhole = entries.length === wanted && later > 0
    return {
      entries: isWhole ? [...entries, ...(await reads.readLog(log, from + wanted, later))] : entries,
      wanted,
      taken: 0,
    }
  })
  return Promise.all(tails)
}

/** The wanted entries of several logs in one order, as far as it is known. */
function merged(tails: readonly Tail[], limit: number): readonly AuditEntry[] {
  const places = placesOf(tails)
  const result: AuditEntry[] = []
  while (result.length < limit) {
    const open = tails.filter(({ wanted, taken }) => taken < wanted)
    if (open.length === 0 || open.some(({ entries, taken }) => taken === entries.length)) break
    const tail = withoutCause(open.reduce(earlier), places)
    const entry = headOf(tail)
    tail.taken += 1
    places.get(entry.subject)?.delete(versionOf(entry) as number)
    result.push(entry)
  }
  return result
}

/** The tail itself, unless a cause of its next entry waits in another: then that one, and so on. */
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

/** By subject and version, the tail that has the entry. */
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

/** The number of this change of a decision or policy, null for other objects, and for entries of older releases. */
export function versionOf({ type, data }: AuditEntry): number | null {
  const isOfDecision = type.startsWith('decision.') || type === 'request.erased'
  const version = isOfDecision ? data.version : type.startsWith('policy.') ? data.revision : null
  return typeof version === 'number' ? version : null
}

function pageOf(positions: Positions, entries: readonly AuditEntry[]): LogPage {
  const behind: Record<string, number> = { ...positions }
  for (const { log, index } of entries) behind[log] = index + 1
  return { entries, positions: behind }
}

/** `positions` moved behind one more entry. */
export function behind(positions: Positions, { log, index }: AuditEntry): Positions {
  return { ...positions, [log]: index + 1 }
}

export async function positionsAtEnd(reads: Pick<FeedReads, 'listLogs'>): Promise<Positions> {
  return Object.fromEntries((await reads.listLogs()).map(({ log, next_index }) => [log, next_index]))
}

/** Behind every entry that is older than this time. */
export async function positionsAt(reads: LogReads, time: string): Promise<Positions> {
  const ends = await reads.listLogs()
  return Object.fromEntries(
    await Promise.all(ends.map(async (end) => [end.log, await firstSince(reads, end, time)] as const)),
  )
}

/** The first index whose entry is not older than this time: within a log time never decreases. */
async function firstSince(reads: LogReads, { log, next_index }: LogEnd, time: string): Promise<number> {
  let [low, high] = [0, next_index]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [entry] = await reads.readLog(log, middle, 1)
    if (entry !== undefined && entry.at < time) low = middle + 1
    else high = middle
  }
  return low
}
