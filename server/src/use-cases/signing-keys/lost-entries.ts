import type { LogPosition, Store } from '@countersign/store-port/store'
import type { MutationWriter } from '../../mutation-writer.js'
import type { Log } from '../../ports/log.js'

/** The signing keys have signed what the store does not hold any more. The message says what to do. */
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
 * Before anything is written: whether the store holds the newest entry that is known beside the signing keys. If it does
 * not and may not, a new log begins, so that no position is given twice. Resolves with the entry whose loss was accepted.
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
  // An accepted loss is remembered until it is recorded; nothing records what a restore lacks.
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

/** For whoever reads the audit log later. */
export async function recordLoss(writer: MutationWriter, at: string, { log, index }: LogPosition): Promise<void> {
  await writer.write({
    entry: { at, type: 'store.loss_accepted', actor: null, subject: log, agent_id: null, data: { index } },
    change: () => ({ kind: 'entry.only' }),
    idempotency: null,
  })
}

/**
 * Keeps the newest audit entry of this process beside the signing keys: that entry is missed when the store is lost.
 *
 * @returns to be called again and again; never rejects, and logs once when it begins to fail
 */
export function newestEntryMemory({ memory, writer, log }: NewestEntryDeps): () => Promise<void> {
  let isRemembered = true
  return async () => {
    if (writer.newestEntry === null) return
    try {
      await memory.remember(writer.newestEntry)
      isRemembered = true
    } catch (err) {
      // A file that can only be read, for one: what the store holds is whole all the same.
      if (isRemembered) log.error({ err }, 'the newest audit entry could not be saved with the signing keys')
      isRemembered = false
    }
  }
}
