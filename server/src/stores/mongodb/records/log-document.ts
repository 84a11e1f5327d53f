/**
 * The document of a log. `epoch` identifies the writer: the process that increments it is the only writer from then on.
 * Each write increments `rev`, so that a delayed write, whose answer is no longer awaited, changes nothing.
 */
import { randomBytes } from 'node:crypto'
import type { LogEnd } from '../../../ports/store/audit.js'
import type { Database } from '../connection/database.js'
import type { FollowedKind, Intent, LogDocument } from '../stored.js'

/** A process that is silent for this long may lose its log to another. */
const HELD_FOR_MS = 30_000

const FOLLOWED: readonly FollowedKind[] = ['policies', 'agent', 'keys']

export function heldUntil(nowMs: number): number {
  return nowMs + HELD_FOR_MS
}

export function newLog(holder: string, until_ms: number): LogDocument {
  const _id = randomBytes(6).toString('base64url')
  const announced = { policies: 0, agent: 0, keys: 0 }
  return { _id, epoch: 1, rev: 1, holder, until_ms, start: 0, group: [], announced, underway: [] }
}

/** Leaves a complete log to the next process that needs one. */
export async function leaveLogBehind(database: Database, { log, next_index }: LogEnd): Promise<void> {
  await database.insertNew(database.logs, [{ ...newLog('', 0), _id: log, holder: null, start: next_index }])
}

export function intentUpdate({ announced }: LogDocument, start: number, group: readonly Intent[]) {
  const kinds = new Set(group.map(({ home }) => home.kind))
  const underway = FOLLOWED.filter((kind) => kinds.has(kind))
  return { start, group, underway, announced: raised(announced, underway) }
}

/** The update that records that no record of the last group is in progress. */
export function settlement({ announced, underway }: LogDocument): Pick<LogDocument, 'announced' | 'underway'> {
  return { underway: [], announced: raised(announced, underway) }
}

/** The update that records that every index below `start` has its entry, and that no intent is left. */
export function completion(log: LogDocument, start: number) {
  return { ...settlement(log), start, group: [] }
}

function raised(announced: LogDocument['announced'], kinds: readonly FollowedKind[]): LogDocument['announced'] {
  return { ...announced, ...Object.fromEntries(kinds.map((kind) => [kind, announced[kind] + 1])) }
}

type Members = Partial<Omit<LogDocument, '_id' | 'epoch' | 'rev'>>

/** Writes a log that this process owns. Null when another process has taken it. */
export async function writeLog(database: Database, log: LogDocument, members: Members): Promise<LogDocument | null> {
  const { _id, epoch, rev } = log
  const $set = { ...members, rev: rev + 1 }
  // At `rev + 1` this very write has succeeded, and its answer was lost.
  const filter = { _id, epoch, rev: { $in: [rev, rev + 1] } }
  const { matchedCount } = await database.call(() => database.logs.updateOne(filter, { $set }))
  return matchedCount === 1 ? { ...log, ...$set } : null
}

/**
 * Makes this process the only writer of a log. Null when it was written since the read, or when the answer was lost.
 */
export async function takeLog(
  database: Database,
  log: LogDocument,
  members: Members = {},
): Promise<LogDocument | null> {
  const { _id, epoch, rev } = log
  const $set = { ...members, epoch: epoch + 1, rev: rev + 1 }
  const { matchedCount } = await database.call(() => database.logs.updateOne({ _id, epoch, rev }, { $set }))
  return matchedCount === 1 ? { ...log, ...$set } : null
}

/** Takes all logs from their writers, and leaves them to the processes that open one next. */
export async function freeAllLogs(database: Database): Promise<void> {
  const free = { $inc: { epoch: 1, rev: 1 }, $set: { holder: null, until_ms: 0 } }
  await database.call(() => database.logs.updateMany({}, free))
}
