import { type Change, ConflictError, type Store } from '#server/ports/store/store'
import { LogPen } from './documents.js'

interface Waiting {
  readonly change: Change
  resolve(): void
  reject(error: unknown): void
}

/** Commits what is written meanwhile as one group behind the one in progress, as the server does. */
export class GroupPen {
  readonly #pen: LogPen
  #waiting: Waiting[] = []
  #isWriting = false

  private constructor(pen: LogPen) {
    this.#pen = pen
  }

  static async of(store: Store): Promise<GroupPen> {
    return new GroupPen(await LogPen.of(store))
  }

  /** Resolves when the change is durable; rejects with a `ConflictError` when it met one. */
  write(change: Change): Promise<void> {
    const written = new Promise<void>((resolve, reject) => this.#waiting.push({ change, resolve, reject }))
    if (!this.#isWriting) void this.#drain()
    return written
  }

  async #drain(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) await this.#commit(this.#waiting.splice(0))
    this.#isWriting = false
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      const { written, conflict, lateConflicts } = await this.#pen.commit(...group.map(({ change }) => change))
      for (const [i, one] of group.slice(0, written).entries()) {
        const met = lateConflicts?.get(i)
        if (met === undefined) one.resolve()
        else one.reject(new ConflictError(met))
      }
      if (conflict === null) return
      group[written]?.reject(new ConflictError(conflict))
      this.#waiting.unshift(...group.slice(written + 1))
    } catch (error) {
      for (const one of group) one.reject(error)
    }
  }
}
