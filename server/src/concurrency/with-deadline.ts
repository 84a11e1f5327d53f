/**
 * Waits for work, but no longer than `deadlineMs` from now. The work continues after the deadline; its result is
 * dropped.
 *
 * @param lateError creates the error when the deadline passes
 * @throws the rejection of the work, or the error of `lateError`
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
