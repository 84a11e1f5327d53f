import type { Caller } from '../../caller.js'
import { type EraseDeps, eraseOne } from './erase-one.js'

export interface EraseRequestDeps extends EraseDeps {
  /** Resolves when the files of the store contain no erased data, or after a time limit. Never rejects. */
  readonly wipeFiles: () => Promise<void>
}

/**
 * Erases the request of a decision everywhere the server holds it. Erasing it again changes nothing.
 *
 * @throws DomainError not_found; StoreUnavailableError
 *
 * Source: docs/erase-requests.md "Erase a request"
 */
export async function eraseRequest(deps: EraseRequestDeps, caller: Caller, id: string): Promise<void> {
  const { decision, isErased } = await eraseOne(deps, caller, id)
  if (isErased) deps.liveEvents.forget([decision])
  await deps.wipeFiles()
}
