import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailableError } from '../ports/store/errors.js'

const FIRST_PAUSE_MS = 5
const MOST_PAUSES = 9

/**
 * Pauses before a call retries because it found a copy of itself in progress; each pause is longer. The copy runs in
 * another process, or its caller here gave it up a moment ago.
 *
 * @param tries how often the call has found the copy, from 1
 * @throws StoreUnavailableError after about 2.5 s: the copy neither ends nor releases anything; its process may have
 *   died
 */
export async function waitForCallInProgress(tries: number, cause: unknown): Promise<void> {
  if (tries > MOST_PAUSES)
    throw new StoreUnavailableError('The same call is in progress in another process.', { cause })
  await pause(FIRST_PAUSE_MS * 2 ** (tries - 1))
}
