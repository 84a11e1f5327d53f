import { UnavailableError } from '../errors/unavailable-error.js'
import { endsWithin } from './settlement/ends-within.js'

/** The time limit has passed without an answer. The answer may still come. */
export class Late {
  readonly unavailable: UnavailableError

  constructor(timeoutMs: number) {
    this.unavailable = new UnavailableError('timeout', `there was no decision within ${timeoutMs} ms`)
  }
}

/** The result of the work, or Late after the time in milliseconds; the work then goes on unseen. */
export async function unlessLate<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  if (await endsWithin(timeoutMs, work)) return work
  throw new Late(timeoutMs)
}
