/**
 * Like `Promise.all`, but after a failure it waits for the other tasks before it throws, so that none is still running.
 */
export async function allDone<T>(tasks: readonly T[]): Promise<Awaited<T>[]> {
  const ends = await Promise.allSettled(tasks)
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}
