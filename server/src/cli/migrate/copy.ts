import { systemClock } from '../../adapters/system-clock.js'
import { MOVED_KINDS, type MovedKind, type MoveProgress } from '../../ports/store/move.js'
import { slotOwners } from '../../state/shared-open-reviews.js'
import type { Source } from './source.js'
import type { OnTarget } from './target.js'
import type { Telling } from './telling.js'

/** Few enough to be written in one command, in rows and in bytes. */
const PAGE = { limit: 500, maxBytes: 4 * 2 ** 20 } as const

export interface Copying {
  readonly source: Source
  readonly onTarget: OnTarget
  readonly telling: Telling
}

/**
 * Calls `take` with each page of a kind, from one on.
 *
 * @param after the `next` of the page before; null for all
 */
export async function forEachPage<Kind extends MovedKind>(
  { move }: Source,
  kind: Kind,
  after: string | null,
  take: (items: Awaited<ReturnType<Source['move']['read'][Kind]>>['items'], next: string | null) => Promise<void>,
): Promise<void> {
  const read = move.read[kind] as (
    page: typeof PAGE & { after: string | null },
  ) => ReturnType<Source['move']['read'][Kind]>
  for (let from = after; ; ) {
    const { items, next } = await read({ ...PAGE, after: from })
    await take(items, next)
    if (next === null) return
    from = next
  }
}

/** Writes all records to the target, from a page on, and then what follows from them. */
export async function copyAll(copying: Copying, id: string, progress: MoveProgress | null): Promise<void> {
  const first = progress === null ? 0 : MOVED_KINDS.indexOf(progress.kind)
  for (const [i, kind] of MOVED_KINDS.entries())
    if (i >= first) await copyKind(copying, id, kind, i === first ? (progress?.after ?? null) : null)
  await takeSlots(copying)
  const end = await copying.source.move.logEnd()
  if (end !== null) await copying.onTarget((target) => target.leaveLog(end))
}

async function copyKind(
  { source, onTarget, telling }: Copying,
  id: string,
  kind: MovedKind,
  after: string | null,
): Promise<void> {
  const told = telling.of('copied', kind, await source.move.count(kind), after !== null)
  await forEachPage(source, kind, after, async (items, next) => {
    await onTarget((target) => target.write(kind, items))
    if (next !== null) await onTarget((target) => target.noteProgress(id, { kind, after: next }))
    told.add(items.length)
  })
  told.end()
}

/** A server on a shared store counts waiting reviews there. More than its limit may wait already. */
async function takeSlots({ source, onTarget }: Copying): Promise<void> {
  const at = systemClock().now().toISOString()
  const open = await source.decisions.listOpenReviews(at)
  const slots = open.flatMap((review) =>
    slotOwners(review).map((owner) => ({
      ...{ owner, id: review.id, at, expires_at: review.expires_at },
      limit: Number.MAX_SAFE_INTEGER,
    })),
  )
  for (let done = 0; done < slots.length; done += PAGE.limit)
    await onTarget((target) => target.takeReviewSlots(slots.slice(done, done + PAGE.limit)))
}
