import { StoreUnavailableError } from '@countersign/store-port/store'

/**
 * Gives back one thing that was taken for a mutation, when the mutation fails. Outcome `unknown`: the mutation may have
 * become durable.
 */
export type Compensation = (outcome: 'not_written' | 'unknown') => unknown

/**
 * Runs the compensations of a mutation that failed, last taken first. When the outcome of the mutation is unknown, they run
 * after the store has settled it; nothing waits for that.
 */
export async function compensate(taken: readonly Compensation[], failure: unknown): Promise<void> {
  const lastFirst = taken.toReversed()
  if (failure instanceof StoreUnavailableError)
    void failure.settled.then(() => lastFirst.map((giveBack) => giveBack('unknown')))
  else for (const giveBack of lastFirst) await giveBack('not_written')
}
