import type { AuditEntry } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { AuditFilter, AuditStore, LogPosition } from '../../ports/store/audit.js'
import type { Positions } from '../../ports/store/feed.js'
import type { PageRequest } from '../../ports/store/page.js'
import { PageRoom } from '../../ports/store/page-room.js'
import type { Store } from '../../ports/store/store.js'
import { positionsAt, positionsAtEnd, readLogs } from './log-reader.js'

export interface FollowDeps {
  readonly store: { readonly audit: Pick<AuditStore, 'read' | 'listLogs'> } & Pick<Store, 'ping'>
}

/** How far a log was read. */
interface LogPlace {
  /** The index behind the last entry that was read. */
  readonly next_index: number
  /** The beginning of that entry's leaf hash: another entry at its index tells that the log is not the one that was read. */
  readonly leaf: string
}

/** The place in each log; none in a log of which nothing was read. */
export type LogPlaces = Readonly<Record<string, LogPlace>>

/** Where a reader begins: at the oldest entry, at the end of the logs, or behind what it has read. */
export type FollowStart = 'oldest' | 'now' | LogPlaces

export interface FollowedPage {
  readonly items: readonly AuditEntry[]
  /** The places behind everything that was read. They equal those of the call when nothing came since. */
  readonly places: LogPlaces
}

/** 132 bits of the hash, in base64url: no two entries that differ have them in common. */
const LEAF_LENGTH = 22
/** With a filter, this many entries are read at a time. */
const CHUNK = 200
/** After this time the page ends with what was found so far. */
const READ_MS = 2000

/**
 * Reads the entries of all logs after these places, oldest first; in each log in order and without a gap. Each log has its
 * own position, so that the reader misses no entry: neither one that becomes durable late nor one in a new log. A page may
 * be short or empty although more entries follow.
 *
 * @throws DomainError invalid_cursor: a log ends before its place, or has another entry there
 * @throws DomainError store_unavailable: an entry is missing, so what follows it cannot be read in order
 * @throws StoreUnavailableError
 */
export async function followLogs(
  { store }: FollowDeps,
  start: FollowStart,
  filter: AuditFilter,
  { limit, maxBytes = Number.POSITIVE_INFINITY, isWanted = () => true, pause = async () => {} }: PageRequest,
): Promise<FollowedPage> {
  const untilMs = performance.now() + READ_MS
  const isFiltered = Object.keys(filter).length > 0
  const room = new PageRoom({ limit, maxBytes })
  const items: AuditEntry[] = []
  let places = await placesOf(store, start, filter)
  while (items.length < limit && isWanted()) {
    const wanted = isFiltered ? CHUNK : limit - items.length
    const { entries, gaps } = await readLogs(store, positionsOf(places), wanted)
    if (entries.length === 0 && items.length === 0 && gaps.length > 0) throw gapError(gaps)
    for (const entry of entries) {
      await pause()
      if (matches(entry, filter)) {
        if (items.length === limit || !room.takes(Buffer.byteLength(JSON.stringify(entry)))) return { items, places }
        items.push(entry)
      }
      places = { ...places, [entry.log]: placeBehind(entry) }
    }
    // Fewer than wanted: they were all, or as many as fit. A caller sees by the places whether to ask again.
    if (entries.length < wanted || performance.now() > untilMs) break
  }
  return { items, places }
}

function placeBehind({ index, leaf }: AuditEntry): LogPlace {
  return { next_index: index + 1, leaf: leaf.slice(0, LEAF_LENGTH) }
}

function positionsOf(places: LogPlaces): Positions {
  return Object.fromEntries(Object.entries(places).map(([log, { next_index }]) => [log, next_index]))
}

async function placesOf(store: FollowDeps['store'], start: FollowStart, { from }: AuditFilter): Promise<LogPlaces> {
  if (start === 'now') return placesAt(store, await positionsAtEnd(store))
  if (start === 'oldest') return from === undefined ? {} : placesAt(store, await positionsAt(store, from))
  await assertUnchanged(store, start)
  return start
}

async function placesAt(store: FollowDeps['store'], positions: Positions): Promise<LogPlaces> {
  const { found, missing } = await readLast(store, positions)
  if (missing.length > 0) throw gapError(missing)
  return Object.fromEntries(found.map((entry) => [entry.log, placeBehind(entry)]))
}

/** Reads the last entry before each of these positions. */
async function readLast({ audit }: FollowDeps['store'], positions: Positions) {
  const last = Object.entries(positions).flatMap(([log, next]) => (next === 0 ? [] : [{ log, index: next - 1 }]))
  const entries = await Promise.all(last.map(async ({ log, index }) => (await audit.read(log, index, 1))[0]))
  const found = entries.filter((entry) => entry !== undefined)
  return { found, missing: last.filter((_, i) => entries[i] === undefined) }
}

/**
 * Checks that the logs still have the entries that were read last. A MongoDB server that has just become the primary, or no
 * longer is it, may not have entries that it or another one has shown: it shows them after a write.
 */
async function assertUnchanged(store: FollowDeps['store'], places: LogPlaces): Promise<void> {
  if ((await missingAt(store, places)).length === 0) return
  await store.ping()
  const [missing] = await missingAt(store, places)
  if (missing === undefined) return
  const { log, index } = missing
  const end = (await positionsAtEnd(store))[log] ?? 0
  if (end > index) throw gapError([missing])
  throw rewrittenError(`The cursor is behind entry ${index} of the audit log ${log}, which has ${end} entries now`)
}

/** @throws DomainError invalid_cursor: another entry is where one was read */
async function missingAt(store: FollowDeps['store'], places: LogPlaces): Promise<readonly LogPosition[]> {
  const { found, missing } = await readLast(store, positionsOf(places))
  const other = found.find((entry) => placeBehind(entry).leaf !== places[entry.log]?.leaf)
  if (other !== undefined)
    throw rewrittenError(`Entry ${other.index} of the audit log ${other.log} is not the one that was read`)
  return missing
}

function rewrittenError(what: string): DomainError {
  return new DomainError('invalid_cursor', {
    detail:
      `${what}: the log was rewritten, or an older copy of the store was restored. Start again without a cursor to get ` +
      'the entries that were written instead.',
  })
}

function gapError(gaps: readonly LogPosition[]): DomainError {
  const names = gaps.map(({ log, index }) => `entry ${index} of the audit log ${log}`).join(', ')
  return new DomainError('store_unavailable', {
    detail: `The store lacks ${names}, so what follows it cannot be read in order.`,
  })
}

function matches({ type, agent_id, subject, at }: AuditEntry, filter: AuditFilter): boolean {
  return (
    (filter.type === undefined || type === filter.type) &&
    (filter.agent_id === undefined || agent_id === filter.agent_id) &&
    (filter.subject === undefined || subject === filter.subject) &&
    (filter.from === undefined || at >= filter.from) &&
    (filter.to === undefined || at < filter.to)
  )
}
