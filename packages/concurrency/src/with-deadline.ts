/**
 * Waits for work, but no longer than `deadlineMs` from now. The work goes on after the deadline; its result is dropped.
 *
 * @param lateError made when the deadline passes
 * @throws what the work rejects with, or the error that `lateError` makes
 */
export async function withDeadline<T>(work: Promise<T>, deadlineMs: number, lateError: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(lateError()), deadlineMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
