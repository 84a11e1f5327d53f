/**
 * The document of a log. `epoch` says who writes it: whoever raises it is the only writer from then on. `rev` rises with each
 * write, so that one that comes through late, when its answer is not waited for any more, changes nothing.
 */
import { randomBytes } from 'node:crypto'
import type { Database } from '../connection/database.js'
import type { FollowedKind, Intent, LogDocument } from '../stored.js'

/** A process that does not say for so long that it lives may lose its log to another. */
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

/** The update that writes the intents of a group. */
export function intentUpdate({ announced }: LogDocument, start: number, group: readonly Intent[]) {
  const kinds = new Set(group.map(({ home }) => home.kind))
  const underway = FOLLOWED.filter((kind) => kinds.has(kind))
  return { start, group, underway, announced: raised(announced, underway) }
}

/** The update after which no record of the last group is in progress. */
export function settlement({ announced, underway }: LogDocument): Pick<LogDocument, 'announced' | 'underway'> {
  return { underway: [], announced: raised(announced, underway) }
}

/** The update after which every index below `start` has its entry, and no intent is left. */
export function completion(log: LogDocument, start: number) {
  return { ...settlement(log), start, group: [] }
}

function raised(announced: LogDocument['announced'], kinds: readonly FollowedKind[]): LogDocument['announced'] {
  return { ...announced, ...Object.fromEntries(kinds.map((kind) => [kind, announced[kind] + 1])) }
}

type Members = Partial<Omit<LogDocument, '_id' | 'epoch' | 'rev'>>

/** Writes a log of one's own as it is known. Null when another process has taken it. */
export async function writeLog(database: Database, log: LogDocument, members: Members): Promise<LogDocument | null> {
  const { _id, epoch, rev } = log
  const $set = { ...members, rev: rev + 1 }
  // At `rev + 1` it is this very write that came through, and its answer was lost.
  const filter = { _id, epoch, rev: { $in: [rev, rev + 1] } }
  const { matchedCount } = await database.call(() => database.logs.updateOne(filter, { $set }))
  return matchedCount === 1 ? { ...log, ...$set } : null
}

/** Makes oneself the only writer of a log as it was read. Null when it was written since, or when the answer was lost. */
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
