import type { Caller } from '../../caller.js'
import { type EraseDeps, eraseOne } from './erase-one.js'

export interface EraseRequestDeps extends EraseDeps {
  /** Resolves when nothing of what was erased is left in the files of the store, or after a while. Never rejects. */
  readonly wipeFiles: () => Promise<void>
}

/**
 * Erases the request of a decision wherever the server holds it. To erase it again changes nothing.
 *
 * @throws DomainError not_found; StoreUnavailableError
 *
 * Source: docs/audit.md "Erase a request"
 */
export async function eraseRequest(deps: EraseRequestDeps, caller: Caller, id: string): Promise<void> {
  const { decision, isErased } = await eraseOne(deps, caller, id)
  if (isErased) deps.liveEvents.forget([decision])
  await deps.wipeFiles()
}
