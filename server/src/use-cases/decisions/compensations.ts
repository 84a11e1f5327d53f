import { StoreUnavailableError } from '../../ports/store/errors.js'

/**
 * Gives back one resource that a mutation took, after the mutation failed. With the outcome `unknown` the mutation may
 * still have become durable.
 */
export type Compensation = (outcome: 'not_written' | 'unknown') => unknown

/**
 * Runs the compensations of a failed mutation, last taken first. When the outcome of the mutation is unknown, they run
 * after the store has settled it; nothing waits for that.
 */
export async function compensate(taken: readonly Compensation[], failure: unknown): Promise<void> {
  const lastFirst = taken.toReversed()
  if (failure instanceof StoreUnavailableError)
    void failure.settled.then(() => lastFirst.map((giveBack) => giveBack('unknown')))
  else for (const giveBack of lastFirst) await giveBack('not_written')
}
