interface Waiting<Asked, Answer> {
  readonly asked: Asked
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

const LARGEST_BATCH = 256

/** Runs one call at a time: requests that arrive during it, or in the same turn, form the next one. */
export class Batches<Asked, Answer> {
  #waiting: Waiting<Asked, Answer>[] = []
  #isRunning = false

  /** @param send answers each request of a batch, in order; an error answers that one alone, a rejection answers all */
  constructor(private readonly send: (batch: readonly Asked[]) => Promise<readonly (Answer | Error)[]>) {}

  get isIdle(): boolean {
    return !this.#isRunning
  }

  ask(asked: Asked): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ asked, resolve, reject })
      if (!this.#isRunning) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    await Promise.resolve()
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, LARGEST_BATCH)
      try {
        const answers = await this.send(batch.map(({ asked }) => asked))
        for (const [i, { resolve, reject }] of batch.entries()) {
          const answer = answers[i] as Answer | Error
          if (answer instanceof Error) reject(answer)
          else resolve(answer)
        }
      } catch (error) {
        for (const { reject } of batch) reject(error)
      }
    }
    this.#isRunning = false
  }
}
