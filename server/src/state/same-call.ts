import { setTimeout as pause } from 'node:timers/promises'
import { StoreUnavailableError } from '@countersign/store-port/store'

const FIRST_PAUSE_MS = 5
const MOST_PAUSES = 9

/**
 * Lets a call that met itself look again, each time later: the other copy is on its way in another process, or was given
 * up here a moment ago.
 *
 * @param tries how often it has met itself, from 1
 * @throws StoreUnavailableError after about 2.5 s: the other comes to no end and gives nothing up, its process may have died
 */
export async function pauseForSameCall(tries: number, cause: unknown): Promise<void> {
  if (tries > MOST_PAUSES) throw new StoreUnavailableError('The same call is on its way in another process.', { cause })
  await pause(FIRST_PAUSE_MS * 2 ** (tries - 1))
}
