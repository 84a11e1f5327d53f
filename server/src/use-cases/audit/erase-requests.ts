/** Erases the requests of many decisions: of an agent, or of all that are old enough. */
import type { ErasedRequests } from '@countersign/contract'
import type { StoredDecision } from '@countersign/store-port/documents'
import {
  type HeldRequestFilter,
  type PageRequest,
  type Store,
  StoreUnavailableError,
} from '@countersign/store-port/store'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import { isOpen } from '../decisions/status.js'
import { eraseOne } from './erase-one.js'
import type { EraseRequestDeps } from './erase-request.js'

export interface EraseRequestsDeps extends EraseRequestDeps {
  readonly store: EraseRequestDeps['store'] & Pick<Store, 'listHeldRequests'>
  /** False when the server stops. */
  readonly isServing: () => boolean
}

/** A part of a group of the mutation writer: the mutations of others get in between. */
const BATCH = 64
/** All batches take turns, whoever wants them: together they take no more of the writer than one. */
const TURNS = 'erase requests'
const DAY_MS = 86_400_000

interface Run {
  readonly filter: HeldRequestFilter
  /** Asked before each batch; null: the server itself. */
  readonly callerNow: () => Caller | null
  readonly isKept?: (decision: StoredDecision, now: string) => boolean
  readonly pause: () => Promise<void>
}

interface Ran {
  readonly erased: number
  /** When the first decision whose request was kept was evaluated. */
  readonly firstKept: string | null
  /** False when the server stops. */
  readonly isDone: boolean
}

/**
 * Erases the requests of all decisions of an agent that were evaluated before the call. It goes on when the caller has left.
 * What an error interrupts, the next call goes on with.
 *
 * @param callerNow throws when the caller may not go on
 * @param pause awaited between the parts of the work
 * @throws StoreUnavailableError, also when the server stops; what `callerNow` throws
 *
 * Source: docs/audit.md "Erase a request"
 */
export async function eraseRequestsOfAgent(
  deps: EraseRequestsDeps,
  callerNow: () => Caller,
  agent_id: string,
  pause: () => Promise<void>,
): Promise<ErasedRequests> {
  // Those of this very millisecond, too.
  const evaluated_before = new Date(deps.clock.now().getTime() + 1).toISOString()
  const { erased, isDone } = await eraseAll(deps, { filter: { agent_id, evaluated_before }, callerNow, pause })
  if (!isDone) throw new StoreUnavailableError('The server stops. Call again to erase the rest.')
  await deps.wipeFiles()
  return { agent_id, erased }
}

/**
 * Makes the job that erases the requests of decisions that were evaluated more than so many days ago. An open decision keeps its
 * request until it is closed: for a review, for the policies at its claim, or for its permit. A run begins where the one before
 * it left the first request, so that it does not look at the whole store again.
 *
 * @param pause awaited between the parts of the work
 * @returns one run; resolves with how many were erased, rejects with StoreUnavailableError
 */
export function oldRequestEraser(
  deps: EraseRequestsDeps,
  days: number,
  pause: () => Promise<void>,
): () => Promise<number> {
  let from: string | undefined
  return async () => {
    const evaluated_before = new Date(deps.clock.now().getTime() - days * DAY_MS).toISOString()
    const filter = { evaluated_before, ...(from !== undefined && { evaluated_from: from }) }
    const run = { filter, callerNow: () => null, isKept: isOpen, pause }
    const { erased, firstKept, isDone } = await eraseAll(deps, run)
    if (isDone) from = firstKept ?? evaluated_before
    if (erased > 0) await deps.wipeFiles()
    return erased
  }
}

async function eraseAll(deps: EraseRequestsDeps, { filter, callerNow, isKept, pause }: Run): Promise<Ran> {
  let erased = 0
  let firstKept: string | null = null
  for (let after: string | null = null; deps.isServing(); ) {
    const page: PageRequest = { limit: BATCH, after, pause }
    const batch = await deps.mutex.run(TURNS, () => eraseBatch(deps, filter, page, callerNow(), isKept))
    erased += batch.erased
    firstKept ??= batch.firstKept
    if (batch.next === null) return { erased, firstKept, isDone: true }
    after = batch.next
    await pause()
  }
  return { erased, firstKept, isDone: false }
}

async function eraseBatch(
  deps: EraseRequestsDeps,
  filter: HeldRequestFilter,
  page: PageRequest,
  caller: Caller | null,
  isKept: Run['isKept'],
) {
  const { items, next } = await deps.store.listHeldRequests(filter, page)
  const after = await Promise.all(items.map(({ id }) => eraseOne(deps, caller, id, isKept).catch(goneAsNull)))
  const erased = after.flatMap((one) => (one?.isErased ? [one.decision] : []))
  deps.liveEvents.forget(erased)
  // The oldest come first.
  const kept = after.find((one) => one !== null && one.decision.request_erased_at === undefined)
  return { erased: erased.length, firstKept: kept?.decision.evaluated_at ?? null, next }
}

/** Whatever was removed meanwhile holds no request. */
function goneAsNull(error: unknown): null {
  if (error instanceof DomainError && error.code === 'not_found') return null
  throw error
}
