/** As `Promise.all`, but when one has failed it waits for the others before it throws: nothing goes on behind a failure. */
export async function allDone<T>(tasks: readonly T[]): Promise<Awaited<T>[]> {
  const ends = await Promise.allSettled(tasks)
  return ends.map((end) => {
    if (end.status === 'rejected') throw end.reason
    return end.value
  })
}
