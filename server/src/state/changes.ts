import { setTimeout as pause } from 'node:timers/promises'
import { SerialQueue } from '../concurrency/serial-queue.js'
import { DomainError } from '../domain-error.js'
import { DamagedRecordError, StoreUnavailableError } from '../ports/store/errors.js'
import { ConflictError } from '../ports/store/store.js'

export interface ChangesOptions {
  /** Reloads the in-memory state from the store. */
  readonly reload: () => Promise<void>
  /** Applies the changes of other processes, before each change; absent when this is the only process. */
  readonly catchUp?: () => Promise<void>
  /** Throws when the API key of a change is no longer valid; called when the change runs. */
  readonly assertKeyIsLive?: (keyId: string) => void
  readonly onReload?: (cause: unknown) => void
  /** The delay before a failed reload is retried, in milliseconds; 1000 when absent. */
  readonly retryMs?: number
}

/** How often a change is tried when it conflicts with changes of other processes. */
const MAX_TRIES = 10

/**
 * Runs the changes of the in-memory state one at a time. After a change with an unknown outcome it reloads the store
 * before the next change, so memory never lags the store.
 */
export class Changes {
  /** A queue whose tasks run between two changes. */
  readonly queue = new SerialQueue()
  private recovery: Promise<void> | null = null

  constructor(private readonly options: ChangesOptions) {}

  /**
   * Runs a change after those before it. When another process made a conflicting change first, runs it again on the new
   * state.
   *
   * @param by the id of the API key that makes the change; null for the operator
   * @throws what the change throws; DomainError unauthorized; StoreUnavailableError until the store was reloaded
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
          if (isOfUnknownOutcome(cause)) this.recover(cause)
          if (cause instanceof ConflictError) await this.reloadAfter(cause)
          if (!isOvertaken(error)) throw error
          if (tries === MAX_TRIES)
            throw new StoreUnavailableError('Other processes keep changing the same data.', { cause: error })
        }
      }
    })
  }

  /** Applies the changes of other processes, between two changes. @throws StoreUnavailableError as `run` */
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

/** A change that found a damaged row ended before its write. */
function isOfUnknownOutcome(cause: unknown): cause is StoreUnavailableError {
  return cause instanceof StoreUnavailableError && !(cause instanceof DamagedRecordError)
}

/** Whether another process changed the data first. */
function isOvertaken(error: unknown): boolean {
  return error instanceof ConflictError && (error.conflict === 'version' || error.conflict === 'key_secret')
}
