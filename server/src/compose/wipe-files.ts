import { withDeadline } from '../concurrency/with-deadline.js'
import type { Base } from './parts.js'

/** How long a call that has erased something waits. */
const WAIT_MS = 5000

/**
 * Resolves when the store's files contain nothing that was erased or removed, or after 5 s; the work then continues on
 * its own. A job calls this every minute, so a failure is repaired later. Never rejects.
 */
export async function wipeFiles({ store, log, isServing }: Pick<Base, 'store' | 'log' | 'isServing'>): Promise<void> {
  const wiped = store.wipe().catch((err) => {
    // A server that stops closes its store, and leaves the rest to the next start.
    if (isServing()) log.error({ err }, 'erased data could not be wiped from the files; the server tries again')
  })
  await withDeadline(wiped, WAIT_MS, () => new Error('Wiping takes long.')).catch(() => {})
}
