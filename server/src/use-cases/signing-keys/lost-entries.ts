import type { LogPosition, Store } from '@countersign/store-port/store'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Log } from '../../ports/log.js'

/** The store lacks entries whose permits the keys have signed. The message says what to do. */
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
  readonly store: Pick<Store, 'hasEntry' | 'isRestored' | 'leaveLogs'>
  readonly log: Pick<Log, 'warn'>
}

interface NewestEntryDeps {
  readonly memory: Pick<Memory, 'remember'>
  readonly writer: Pick<MutationWriter, 'newestEntry'>
  readonly log: Pick<Log, 'error'>
}

/**
 * Checks that the store holds the newest entry that the signing keys remember. Call it before anything is written. When the
 * loss of entries is accepted, a new log begins, so that no position is used twice. Resolves with the entry whose loss was
 * accepted.
 *
 * @throws LostEntriesError
 */
export async function findLostEntry(
  { memory, store, log }: LostEntriesDeps,
  acceptsLoss: boolean,
): Promise<LogPosition | null> {
  const newest = memory.newestEntry
  if (newest === null || (await store.hasEntry(newest))) return null
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

/** Records an accepted loss in the audit log. */
export async function recordLoss(writer: MutationWriter, at: string, { log, index }: LogPosition): Promise<void> {
  await writer.write({
    entry: { at, type: 'store.loss_accepted', actor: null, subject: log, agent_id: null, data: { index } },
    change: () => ({ kind: 'entry.only' }),
    idempotency: null,
  })
}

/**
 * Lets the signing keys remember the newest audit entry of this process, so that a loss of the store is noticed.
 *
 * @returns to be called at every poll; never rejects, and logs only the first of several failures
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
