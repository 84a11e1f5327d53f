export interface PollOptions {
  /** The time from one run to the next, in milliseconds. */
  readonly everyMs: number
  /** The delay before the first run, in milliseconds; `everyMs` when absent. */
  readonly firstMs?: number | undefined
  /** How many runs may be in progress at a time; 1 when absent. */
  readonly concurrency?: number
  /** Called with what a run throws or rejects with. The next run tries again. */
  readonly onError: (error: unknown) => void
}

export interface Poll {
  /** Runs the task now. Does nothing when the loop is stopped or `concurrency` runs are in progress. Never rejects. */
  runNow(): Promise<void>
  /** Ends the loop. Resolves when the runs in progress have ended. */
  stop(): Promise<void>
}

/** Runs a task repeatedly until the loop is stopped. The loop does not keep the process alive. */
export function poll(
  task: () => Promise<void> | void,
  { everyMs, firstMs, concurrency = 1, onError }: PollOptions,
): Poll {
  const runs = new Set<Promise<void>>()
  let isStopped = false
  const runNow = async (): Promise<void> => {
    if (isStopped || runs.size >= concurrency) return
    const run = (async () => task())()
      .catch(onError)
      .finally(() => runs.delete(run))
    runs.add(run)
    await run
  }
  const timer = setInterval(runNow, everyMs).unref()
  const first = firstMs === undefined ? undefined : setTimeout(runNow, firstMs).unref()
  return {
    runNow,
    async stop() {
      isStopped = true
      clearInterval(timer)
      clearTimeout(first)
      await Promise.all(runs)
    },
  }
}
