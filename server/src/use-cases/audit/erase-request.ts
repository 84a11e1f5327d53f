import type { Caller } from '../../caller.js'
import { type EraseDeps, eraseOne } from './erase-one.js'
import { type WipeDeps, wipeFiles } from './wipe.js'

export interface EraseRequestDeps extends EraseDeps, Pick<WipeDeps, 'log' | 'isServing'> {
  readonly store: EraseDeps['store'] & WipeDeps['store']
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
  await wipeFiles(deps)
}
