/** As the work ends, if it does so in time. @throws Error with this message where it does not */
export async function within<Result>(limitMs: number, work: Promise<Result>, message: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(message)), limitMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
