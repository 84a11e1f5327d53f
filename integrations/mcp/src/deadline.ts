/**
 * Resolves as the work does.
 *
 * @throws what the work throws; Error with this message if time runs out first
 */
export async function within<Result>(limitMs: number, work: Promise<Result>, message: string): Promise<Result> {
  if (await endsWithin(work, limitMs)) return work
  throw new Error(message)
}

/** Whether the promise resolves in time. @throws what it rejects with before the time runs out */
export async function endsWithin(end: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, false)
  })
  try {
    return await Promise.race([end.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
