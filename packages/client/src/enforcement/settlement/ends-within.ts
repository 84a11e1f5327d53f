/** Whether the work ends within the time in milliseconds, successful or not. */
export async function endsWithin(milliseconds: number, work: Promise<unknown>): Promise<boolean> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeIsOver = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds)
  })
  const end = (): boolean => true
  try {
    return await Promise.race([work.then(end, end), timeIsOver])
  } finally {
    clearTimeout(timer)
  }
}
