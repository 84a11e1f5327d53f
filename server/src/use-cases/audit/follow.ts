import type { AuditEntry } from '@countersign/contract'
import { DomainError } from '../../domain-error.js'
import type { AuditFilter, AuditStore, LogPosition } from '../../ports/store/audit.js'
import type { Positions } from '../../ports/store/feed.js'
import type { PageRequest } from '../../ports/store/page.js'
import { PageRoom } from '../../ports/store/page-room.js'
import { behind, positionsAt, positionsAtEnd, readLogs } from './log-reader.js'

export interface FollowDeps {
  readonly audit: Pick<AuditStore, 'read' | 'listLogs'>
}

/** Where a reader begins: at the oldest entry, at the end of the logs, or behind what it has read. */
export type FollowStart = 'oldest' | 'now' | Positions

export interface FollowedPage {
  readonly items: readonly AuditEntry[]
  /** The positions behind everything that was read. They equal those of the call when nothing came since. */
  readonly positions: Positions
}

/** With a filter, this many entries are read at a time. */
const CHUNK = 200
/** After this time the page ends with what was found so far. */
const READ_MS = 2000

/**
 * Reads the entries of all logs after these positions, oldest first; in each log in order and without a gap. A position
 * for each log is what makes it complete: an entry that becomes durable late, or a log that begins later, is behind the
 * position of its own log, however far others are. A page may be short or empty although more entries follow.
 *
 * @throws DomainError invalid_cursor: a log ends before its position
 * @throws DomainError store_unavailable: an entry is missing, so what follows it cannot be read in order
 */
export async function followLogs(
  deps: FollowDeps,
  start: FollowStart,
  filter: AuditFilter,
  { limit, maxBytes = Number.POSITIVE_INFINITY, isWanted = () => true, pause = async () => {} }: PageRequest,
): Promise<FollowedPage> {
  const untilMs = performance.now() + READ_MS
  const isFiltered = Object.keys(filter).length > 0
  const room = new PageRoom({ limit, maxBytes })
  const items: AuditEntry[] = []
  let positions = await positionsOf(deps, start, filter)
  while (items.length < limit && isWanted()) {
    const wanted = isFiltered ? CHUNK : limit - items.length
    const { entries, gaps } = await readLogs(deps, positions, wanted)
    if (entries.length === 0 && items.length === 0 && gaps.length > 0) throw gapError(gaps)
    for (const entry of entries) {
      await pause()
      if (matches(entry, filter)) {
        if (items.length === limit || !room.takes(Buffer.byteLength(JSON.stringify(entry)))) return { items, positions }
        items.push(entry)
      }
      positions = behind(positions, entry)
    }
    // Fewer than wanted: they were all, or as many as fit. A caller sees by the positions whether to ask again.
    if (entries.length < wanted || performance.now() > untilMs) break
  }
  return { items, positions }
}

async function positionsOf(deps: FollowDeps, start: FollowStart, { from }: AuditFilter): Promise<Positions> {
  if (start === 'now') return positionsAtEnd(deps)
  if (start === 'oldest') return from === undefined ? {} : positionsAt(deps, from)
  const ends = await positionsAtEnd(deps)
  const lost = Object.entries(start).find(([log, index]) => (ends[log] ?? 0) < index)
  if (lost === undefined) return start
  const [log, index] = lost
  throw new DomainError('invalid_cursor', {
    detail:
      `The cursor is behind entry ${index - 1} of the audit log ${log}, which has ${ends[log] ?? 0} entries now: ` +
      'entries were lost, for example because an older backup was restored. Start again without a cursor.',
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
