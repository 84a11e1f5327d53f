/** Erases the requests of many decisions: those of one agent, or all that are old enough. */
import type { ErasedRequests } from '@countersign/contract'
import type { Caller } from '../../caller.js'
import { DomainError } from '../../domain-error.js'
import type { HeldRequestFilter } from '../../ports/store/decisions.js'
import type { StoredDecision } from '../../ports/store/documents.js'
import { DamagedRecordError, StoreUnavailableError } from '../../ports/store/errors.js'
import type { PageRequest } from '../../ports/store/page.js'
import type { Store } from '../../ports/store/store.js'
import { isOpen } from '../decisions/status.js'
import { type AfterErasing, eraseOne } from './erase-one.js'
import type { EraseRequestDeps } from './erase-request.js'

export interface EraseRequestsDeps extends EraseRequestDeps {
  readonly store: EraseRequestDeps['store'] & Pick<Store, 'decisions'>
  /** False when the server stops. */
  readonly isServing: () => boolean
}

/** Less than a group of the mutation writer, so that other mutations get in between. */
const BATCH = 64
/**
 * All batches take turns, whichever caller started them. Together they use no more of the writer than one caller would.
 */
const TURNS = 'erase requests'
const DAY_MS = 86_400_000

/** Lets the work yield to other work. */
interface Turns {
  /** Awaited between the parts of the work. */
  readonly pause: () => Promise<void>
  /** Runs a batch when it is the caller's turn among all callers. */
  readonly inTurn: <T>(batch: () => Promise<T>) => Promise<T>
}

interface Run extends Turns {
  readonly filter: HeldRequestFilter
  /** Called before each batch; null: the server itself. */
  readonly callerNow: () => Caller | null
  readonly isKept?: (decision: StoredDecision, now: string) => boolean
}

interface Ran {
  readonly erased: number
  /** One error for each damaged row whose request could not be erased. */
  readonly failures: readonly DamagedRecordError[]
  /** When the first decision whose request was kept was evaluated; null if none was kept. */
  readonly firstKept: string | null
  /** False when the server stops. */
  readonly isDone: boolean
}

/**
 * Erases the requests of all decisions of an agent that were evaluated before the call. It continues after the caller
 * disconnects. After an error, the next call continues the work.
 *
 * @param callerNow throws when the caller is no longer allowed to do this
 * @throws StoreUnavailableError, also when the server stops; DamagedRecordError when the rest is erased; what
 *   `callerNow` and `inTurn` throw
 *
 * Source: docs/erase-requests.md "Erase a request"
 */
export async function eraseRequestsOfAgent(
  deps: EraseRequestsDeps,
  callerNow: () => Caller,
  agent_id: string,
  turns: Turns,
): Promise<ErasedRequests> {
  // Includes decisions of this very millisecond.
  const evaluated_before = new Date(deps.clock.now().getTime() + 1).toISOString()
  const ran = await eraseAll(deps, { filter: { agent_id, evaluated_before }, callerNow, ...turns })
  if (!ran.isDone) throw new StoreUnavailableError('The server is stopping. Call again to erase the rest.')
  await deps.wipeFiles()
  throwFirst(ran.failures)
  return { agent_id, erased: ran.erased }
}

/**
 * Creates the job that erases the requests of decisions that were evaluated more than this many days ago. An open
 * decision keeps its request until it is closed: a review, the policy check at a claim, and the permit all need it.
 * Each run starts at the first request that the previous run kept, so it does not scan the whole store again.
 *
 * @param pause awaited between the parts of the work
 * @returns one run; resolves with how many were erased, rejects with StoreUnavailableError, and with DamagedRecordError
 *   when the rest is erased
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
    const run: Run = { filter, callerNow: () => null, isKept: isOpen, pause, inTurn: (batch) => batch() }
    const { erased, failures, firstKept, isDone } = await eraseAll(deps, run)
    if (isDone) from = firstKept ?? evaluated_before
    if (erased > 0) await deps.wipeFiles()
    throwFirst(failures)
    return erased
  }
}

async function eraseAll(deps: EraseRequestsDeps, { filter, callerNow, isKept, pause, inTurn }: Run): Promise<Ran> {
  let erased = 0
  const failures: DamagedRecordError[] = []
  let firstKept: string | null = null
  for (let after: string | null = null; deps.isServing(); ) {
    const page: PageRequest = { limit: BATCH, after, pause }
    const batch = await inTurn(() => deps.mutex.run(TURNS, () => eraseBatch(deps, filter, page, callerNow(), isKept)))
    erased += batch.erased
    failures.push(...batch.failures)
    firstKept ??= batch.firstKept
    if (batch.next === null) return { erased, failures, firstKept, isDone: true }
    after = batch.next
    await pause()
  }
  return { erased, failures, firstKept, isDone: false }
}

async function eraseBatch(
  deps: EraseRequestsDeps,
  filter: HeldRequestFilter,
  page: PageRequest,
  caller: Caller | null,
  isKept: Run['isKept'],
) {
  const { items, next } = await deps.store.decisions.listHeldRequests(filter, page)
  const after = await Promise.all(items.map(({ id }) => eraseOne(deps, caller, id, isKept).catch(endOf)))
  const failures = after.filter((one) => one instanceof DamagedRecordError)
  const erased = after.flatMap((one) => (isErasing(one) && one.isErased ? [one.decision] : []))
  deps.liveEvents.forget(erased)
  // The page is sorted oldest first.
  const kept = items.find((_, i) => holdsRequest(after[i] ?? null))
  return { erased: erased.length, failures, firstKept: kept?.evaluated_at ?? null, next }
}

/** The result for one decision; null when it was removed in the meantime. */
type End = AfterErasing | DamagedRecordError | null

/** A damaged row must not stop the others. A decision that was removed in the meantime has no request left. */
function endOf(error: unknown): DamagedRecordError | null {
  if (error instanceof DamagedRecordError) return error
  if (error instanceof DomainError && error.code === 'not_found') return null
  throw error
}

function isErasing(end: End): end is AfterErasing {
  return end !== null && !(end instanceof DamagedRecordError)
}

function holdsRequest(end: End): boolean {
  return isErasing(end) ? end.decision.request_erased_at === undefined : end !== null
}

function throwFirst([first]: readonly DamagedRecordError[]): void {
  if (first !== undefined) throw first
}
