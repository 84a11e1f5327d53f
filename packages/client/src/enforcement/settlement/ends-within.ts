/** Whether the work is over, well or not, within the time in milliseconds. */
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
