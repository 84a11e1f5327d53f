import type { CallSignal } from '../options.js'

/** Not a refusal: it is thrown to the caller as the reason that the caller's own signal has. */
export class Aborted {
  readonly reason: unknown

  constructor(signal: CallSignal) {
    this.reason = abortReason(signal)
  }
}

export function abortReason(signal: CallSignal): unknown {
  return signal.reason ?? new DOMException('This operation was aborted', 'AbortError')
}

/** The result of the work, or Aborted as soon as the signal is; the work then goes on unseen. */
export async function unlessAborted<Result>(work: Promise<Result>, signal: CallSignal | undefined): Promise<Result> {
  if (signal === undefined) return work
  let onAbort = (): void => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(new Aborted(signal))
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
