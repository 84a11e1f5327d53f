import { DomainError } from '../domain-error.js'
import { ConflictError, StoreUnavailableError } from '../ports/store.js'

/**
 * Changes of what this process holds in memory of the store, one after the other. When a change fails without it being
 * known what the store holds now, the store is read anew before the next one: memory never stays behind it.
 */
export class Changes {
  private last: Promise<unknown> = Promise.resolve()
  private recovery: Promise<void> | null = null

  /** @param reload reads the store anew; tried every `retryMs` until it succeeds. */
  constructor(
    private readonly reload: () => Promise<void>,
    private readonly onReload: (cause: unknown) => void = () => {},
    private readonly retryMs = 1000,
  ) {}

  /** Runs the change after those before it. @throws what it throws; StoreUnavailableError while the store is not read anew */
  run<T>(change: () => Promise<T>): Promise<T> {
    const result = this.last.then(async () => {
      if (this.recovery !== null) throw new StoreUnavailableError('An earlier change has an unknown outcome.')
      try {
        return await change()
      } catch (error) {
        const cause = error instanceof DomainError ? error.cause : error
        if (cause instanceof StoreUnavailableError || cause instanceof ConflictError) this.recover(cause)
        throw error
      }
    })
    this.last = result.catch(() => {})
    return result
  }

  private recover(cause: StoreUnavailableError | ConflictError): void {
    this.onReload(cause)
    const settled = cause instanceof StoreUnavailableError ? cause.settled : Promise.resolve()
    this.recovery = settled.then(async () => {
      while (!(await this.reloaded())) await pause(this.retryMs)
      this.recovery = null
    })
  }

  private async reloaded(): Promise<boolean> {
    try {
      await this.reload()
      return true
    } catch (error) {
      this.onReload(error)
      return false
    }
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref())
}
