import { withDeadline } from '@countersign/concurrency'
import type { Base } from './parts.js'

/** How long a call waits that has erased something. */
const WAIT_MS = 5000

/**
 * Resolves when nothing of what was erased or removed is left in the files of the store, or after 5 s: then the work goes on by
 * itself. A job calls this every minute, so what fails is done later. Never rejects.
 */
export async function wipeFiles({ store, log, isServing }: Pick<Base, 'store' | 'log' | 'isServing'>): Promise<void> {
  const wiped = store.wipe().catch((err) => {
    // A server that stops closes its store, and leaves the rest to the next start.
    if (isServing()) log.error({ err }, 'the files could not be wiped of what was erased; the server tries again')
  })
  await withDeadline(wiped, WAIT_MS, () => new Error('Wiping takes long.')).catch(() => {})
}
