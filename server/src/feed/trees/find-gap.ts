import type { LogPosition } from '../../ports/store/audit.js'
import type { FeedStore, Positions } from '../../ports/store/feed.js'

const PAGE = 1000

/**
 * Finds the first missing entry that later entries of its log follow: no checkpoint will cover any of them. Null
 * without one.
 *
 * @param positions where to begin in each log
 * @param limit how many entries of each log are checked at most
 * @throws StoreUnavailableError
 */
export async function findGap(
  reads: Pick<FeedStore, 'audit'>,
  positions: Positions,
  limit: number,
): Promise<LogPosition | null> {
  for (const { log, next_index } of await reads.audit.listLogs()) {
    const from = positions[log] ?? 0
    const end = Math.min(next_index, from + limit)
    for (let index = from; index < end; ) {
      const { length } = await reads.audit.read(log, index, Math.min(PAGE, end - index))
      if (length === 0) return { log, index }
      index += length
    }
  }
  return null
}

export function gapText({ log, index }: LogPosition): string {
  return `Entry ${index} of log ${log} is missing, but later ones exist. No checkpoint will cover them.`
}
