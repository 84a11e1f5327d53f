/**
 * Runs a task again and again until it is stopped, one run at a time; a run that fails is told, and the next one tries
 * anew. Stopping waits for the run under way.
 *
 * @param firstMs when it runs for the first time, where that is not after one interval
 */
export function every(
  intervalMs: number,
  task: () => Promise<void>,
  onError: (error: unknown) => void,
  firstMs: number | null = null,
): () => Promise<void> {
  let running: Promise<void> | null = null
  const run = () => {
    running ??= task()
      .catch(onError)
      .finally(() => {
        running = null
      })
  }
  const timer = setInterval(run, intervalMs).unref()
  const first = firstMs === null ? undefined : setTimeout(run, firstMs).unref()
  return async () => {
    clearInterval(timer)
    clearTimeout(first)
    await running
  }
}
