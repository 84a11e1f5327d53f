import { UnavailableError } from '../errors/unavailable-error.js'

/** Not an answer: the time for it is over, and it may still come. */
export class Late {
  readonly unavailable: UnavailableError

  constructor(timeoutMs: number) {
    this.unavailable = new UnavailableError('timeout', `there was no decision within ${timeoutMs} ms`)
  }
}

/** The result of the work, or Late after the time in milliseconds; the work then goes on unseen. */
export async function unlessLate<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Late(timeoutMs)), timeoutMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
