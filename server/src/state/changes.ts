import { setTimeout as pause } from 'node:timers/promises'
import { SerialQueue } from '@countersign/concurrency'
import { ConflictError, StoreUnavailableError } from '@countersign/store-port/store'
import { DomainError } from '../domain-error.js'

export interface ChangesOptions {
  /** Reads the state in memory from the store again. */
  readonly reload: () => Promise<void>
  /** Takes over the changes of other processes, before each change; absent where there are no other processes. */
  readonly catchUp?: () => Promise<void>
  /** Throws when the API key of a change is not valid any more; called when the change runs. */
  readonly assertKeyIsLive?: (keyId: string) => void
  readonly onReload?: (cause: unknown) => void
  /** The time until a failed reload is tried again, in milliseconds; 1000 when absent. */
  readonly retryMs?: number
}

/** How often a change is tried that conflicts with changes of other processes. */
const MAX_TRIES = 10

/**
 * Runs the changes of the state in memory one at a time. After a change with an unknown outcome it reads the store again
 * before the next change, so memory never stays behind the store.
 */
export class Changes {
  /** Tasks in it run between two changes. */
  readonly queue = new SerialQueue()
  private recovery: Promise<void> | null = null

  constructor(private readonly options: ChangesOptions) {}

  /**
   * Runs a change after those before it. Runs it again, on the new state, when another process changed the same first.
   *
   * @param by the id of the API key that makes the change; null for the operator
   * @throws what the change throws; DomainError unauthorized; StoreUnavailableError until the store was read again
   */
  run<T>(by: string | null, change: () => Promise<T>): Promise<T> {
    return this.queue.run(async () => {
      for (let tries = 1; ; tries++) {
        if (this.recovery !== null) throw new StoreUnavailableError('The outcome of an earlier change is unknown.')
        await this.options.catchUp?.()
        if (by !== null) this.options.assertKeyIsLive?.(by)
        try {
          return await change()
        } catch (error) {
          const cause = error instanceof DomainError ? error.cause : error
          if (cause instanceof StoreUnavailableError) this.recover(cause)
          if (cause instanceof ConflictError) await this.reloadAfter(cause)
          if (!isOvertaken(error)) throw error
          if (tries === MAX_TRIES)
            throw new StoreUnavailableError('Other processes keep changing the same data.', { cause: error })
        }
      }
    })
  }

  /** Takes over the changes of other processes, between two changes. @throws StoreUnavailableError as `run` */
  catchUp(): Promise<void> {
    return this.run(null, async () => {})
  }

  private async reloadAfter(cause: ConflictError): Promise<void> {
    this.options.onReload?.(cause)
    if (!(await this.reloaded())) this.recover(cause)
  }

  private recover(cause: StoreUnavailableError | ConflictError): void {
    this.options.onReload?.(cause)
    const settled = cause instanceof StoreUnavailableError ? cause.settled : Promise.resolve()
    this.recovery = settled.then(async () => {
      while (!(await this.reloaded())) await pause(this.options.retryMs ?? 1000, undefined, { ref: false })
      this.recovery = null
    })
  }

  private async reloaded(): Promise<boolean> {
    try {
      await this.options.reload()
      return true
    } catch (error) {
      this.options.onReload?.(error)
      return false
    }
  }
}

/** Whether another process changed the data first. */
function isOvertaken(error: unknown): boolean {
  return error instanceof ConflictError && (error.conflict === 'version' || error.conflict === 'key_secret')
}
