/**
 * Reads the audit logs of all processes as one, forward. A log is gapless and its entries are in order of time. Between two
 * logs the order is that of time, and never against cause: a later change of a decision does not come before an earlier one,
 * however far the clocks of two processes are apart.
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
  if (ends.length === 1) return pageOf(positions, await readTail(reads, positions, unread[0] as LogEnd, limit))
  return pageOf(positions, merged(await readTails(reads, positions, unread, limit), limit))
}

async function readTail(reads: LogReads, positions: Positions, { log }: LogEnd, limit: number) {
  return reads.readLog(log, positions[log] ?? 0, limit, MAX_BYTES)
}

/**
 * What caused an entry was durable before it. So of all that the logs held at first, every cause is there when each log is
 * read afterwards.
 */
async function readTails(reads: LogReads, positions: Positions, first: readonly LogEnd[], limit: number) {
  const wantedOf = new Map(first.map(({ log, next_index }) => [log, next_index]))
  const ends = (await reads.listLogs()).filter(({ log, next_index }) => (positions[log] ?? 0) < next_index)
  return Promise.all(
    ends.map(async (end): Promise<Tail> => {
      const from = positions[end.log] ?? 0
      const entries = await readTail(reads, positions, end, limit)
      return { entries, wanted: Math.max(0, (wantedOf.get(end.log) ?? 0) - from), taken: 0 }
    }),
  )
}

/** The wanted entries of several logs in one order, as far as it is known. */
function merged(tails: readonly Tail[], limit: number): readonly AuditEntry[] {
  const waiting = versionsOf(tails.flatMap(({ entries }) => entries))
  const result: AuditEntry[] = []
  while (result.length < limit) {
    const open = tails.filter(({ wanted, taken }) => taken < wanted)
    if (open.length === 0 || open.some(({ entries, taken }) => taken === entries.length)) break
    const tail = earliest(open, waiting) ?? earliest(tails, waiting)
    if (tail === undefined) break
    const entry = headOf(tail) as AuditEntry
    tail.taken += 1
    if (versionOf(entry) !== null) waiting.get(entry.subject)?.shift()
    result.push(entry)
  }
  return result
}

/** The tail whose next entry comes first, of those whose cause does not wait elsewhere. */
function earliest(tails: readonly Tail[], waiting: ReadonlyMap<string, readonly number[]>): Tail | undefined {
  let found: Tail | undefined
  for (const tail of tails) {
    const entry = headOf(tail)
    if (entry === undefined || !isNext(waiting, entry)) continue
    if (found === undefined || compare(entry, headOf(found) as AuditEntry) < 0) found = tail
  }
  return found
}

function headOf({ entries, taken }: Tail): AuditEntry | undefined {
  return entries[taken]
}

function compare(one: AuditEntry, other: AuditEntry): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1
  return one.id < other.id ? -1 : 1
}

/** By subject, the versions that are still to come, the lowest first. */
function versionsOf(entries: readonly AuditEntry[]): ReadonlyMap<string, number[]> {
  const versions = new Map<string, number[]>()
  for (const entry of entries) {
    const version = versionOf(entry)
    if (version === null) continue
    const list = versions.get(entry.subject)
    if (list === undefined) versions.set(entry.subject, [version])
    else list.push(version)
  }
  for (const list of versions.values()) list.sort((one, other) => one - other)
  return versions
}

function isNext(waiting: ReadonlyMap<string, readonly number[]>, entry: AuditEntry): boolean {
  const version = versionOf(entry)
  return version === null || (waiting.get(entry.subject)?.[0] ?? version) >= version
}

/** The number of this change of a decision or policy, null for other objects, and for entries of older releases. */
export function versionOf({ type, data }: AuditEntry): number | null {
  const version = type.startsWith('decision.') ? data.version : type.startsWith('policy.') ? data.revision : null
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
