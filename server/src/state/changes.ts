import { ConflictError, StoreUnavailableError } from '@countersign/store-port/store'
import { DomainError } from '../domain-error.js'

export interface ChangesOptions {
  /** Reads the store anew. */
  readonly reload: () => Promise<void>
  /** Takes over what other processes changed, before each change; absent where there are none. */
  readonly catchUp?: () => Promise<void>
  /** Throws when the API key has ended that a change is made by; asked when its turn has come. */
  readonly assertLives?: (keyId: string) => void
  readonly onReload?: (cause: unknown) => void
  /** How soon a reload that failed is tried again; 1000 when absent. */
  readonly retryMs?: number
}

/** How often a change is made again that another process came in the way of. */
const MAX_TRIES = 10

/**
 * Changes of what this process holds in memory of the store, one after the other. When a change fails without it being
 * known what the store holds now, the store is read anew before the next one: memory never stays behind it.
 */
export class Changes {
  private last: Promise<unknown> = Promise.resolve()
  private recovery: Promise<void> | null = null

  constructor(private readonly options: ChangesOptions) {}

  /**
   * Runs the change after those before it, and again by what is there now when another process was faster with the same.
   *
   * @param by the id of the API key that makes it; null for the operator
   * @throws what it throws; DomainError unauthorized; StoreUnavailableError while the store is not read anew
   */
  run<T>(by: string | null, change: () => Promise<T>): Promise<T> {
    return this.inTurn(async () => {
      for (let tries = 1; ; tries++) {
        if (this.recovery !== null) throw new StoreUnavailableError('An earlier change has an unknown outcome.')
        await this.options.catchUp?.()
        if (by !== null) this.options.assertLives?.(by)
        try {
          return await change()
        } catch (error) {
          const cause = error instanceof DomainError ? error.cause : error
          if (cause instanceof StoreUnavailableError) this.recover(cause)
          if (cause instanceof ConflictError) await this.reloadAfter(cause)
          if (!isOvertaken(error)) throw error
          if (tries === MAX_TRIES)
            throw new StoreUnavailableError('Other processes change the same without end.', { cause: error })
        }
      }
    })
  }

  /** Takes over what other processes changed by now, in its turn. @throws StoreUnavailableError as `run` */
  catchUp(): Promise<void> {
    return this.run(null, async () => {})
  }

  /** Runs a task between two changes. */
  inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.last.then(task)
    this.last = result.catch(() => {})
    return result
  }

  private async reloadAfter(cause: ConflictError): Promise<void> {
    this.options.onReload?.(cause)
    if (!(await this.reloaded())) this.recover(cause)
  }

  private recover(cause: StoreUnavailableError | ConflictError): void {
    this.options.onReload?.(cause)
    const settled = cause instanceof StoreUnavailableError ? cause.settled : Promise.resolve()
    this.recovery = settled.then(async () => {
      while (!(await this.reloaded())) await pause(this.options.retryMs ?? 1000)
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

/** Whether the change was made of what was there before another process changed it. */
function isOvertaken(error: unknown): boolean {
  return error instanceof ConflictError && (error.conflict === 'version' || error.conflict === 'key_secret')
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
