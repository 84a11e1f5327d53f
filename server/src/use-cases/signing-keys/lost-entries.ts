import type { MutationWriter } from '../../mutation-writer.js'
import type { Log } from '../../ports/log.js'
import type { LogPosition } from '../../ports/store/audit.js'
import type { Store } from '../../ports/store/store.js'

/** The store lacks entries whose permits were signed with these keys. The message says what to do. */
class LostEntriesError extends Error {
  override readonly name = 'LostEntriesError'
  constructor({ log, index }: LogPosition) {
    super(
      `The store lacks entry ${index} of its audit log ${log}, which is noted with the signing keys. The store has lost decisions, ` +
        'or it is a different store. Nothing was changed. Check DATA_DIR and MONGODB_URL, or restore a newer backup. ' +
        'To give up the missing decisions, run: countersign serve --accept-loss',
    )
  }
}

interface Memory {
  readonly newestEntry: LogPosition | null
  remember(position: LogPosition | null): Promise<void>
}

interface LostEntriesDeps {
  readonly memory: Memory
  readonly store: Pick<Store, 'audit' | 'isRestored' | 'leaveLogs'>
  readonly log: Pick<Log, 'warn'>
}

interface NewestEntryDeps {
  readonly memory: Pick<Memory, 'remember'>
  readonly writer: Pick<MutationWriter, 'newestEntry'>
  readonly log: Pick<Log, 'error'>
}

/**
 * Makes the same check on a store that is not open yet, so that a refused start changes nothing in it.
 *
 * @throws LostEntriesError
 */
export function assertNothingLost(
  newest: LogPosition | null,
  store: { hasEntry(position: LogPosition): boolean; isRestored(): boolean },
): void {
  if (newest !== null && !store.hasEntry(newest) && !store.isRestored()) throw new LostEntriesError(newest)
}

/**
 * Checks that the store holds the newest entry that the signing keys remember. Call it before the first write. When the
 * operator accepts the loss of entries, a new log begins, so that no position is used twice. Resolves with the entry
 * whose loss was accepted.
 *
 * @throws LostEntriesError
 */
export async function findLostEntry(
  { memory, store, log }: LostEntriesDeps,
  acceptsLoss: boolean,
): Promise<LogPosition | null> {
  const newest = memory.newestEntry
  if (newest === null || (await store.audit.has(newest))) return null
  const isRestored = await store.isRestored()
  if (!isRestored && !acceptsLoss) throw new LostEntriesError(newest)
  // The keys remember an accepted loss until it is recorded. A restore records no loss.
  if (isRestored) await memory.remember(null)
  else await store.leaveLogs()
  log.warn(
    { lost_log: newest.log, lost_index: newest.index },
    isRestored
      ? 'the store was restored: it lacks audit entries that are noted with the signing keys'
      : 'the loss of audit entries was accepted; a new audit log begins',
  )
  return isRestored ? null : newest
}

export async function recordLoss(writer: MutationWriter, at: string, { log, index }: LogPosition): Promise<void> {
  await writer.writeEntry({ at, type: 'store.loss_accepted', subject: log, data: { index } })
}

/**
 * Saves the newest audit entry of this process with the signing keys, so that a loss of the store is noticed.
 *
 * @returns a function to call at every poll; it never rejects, and logs only the first of several failures
 */
export function newestEntryMemory({ memory, writer, log }: NewestEntryDeps): () => Promise<void> {
  let isRemembered = true
  return async () => {
    if (writer.newestEntry === null) return
    try {
      await memory.remember(writer.newestEntry)
      isRemembered = true
    } catch (err) {
      // For example, the file is read-only. The store itself is complete.
      if (isRemembered) log.error({ err }, 'the newest audit entry could not be saved with the signing keys')
      isRemembered = false
    }
  }
}
