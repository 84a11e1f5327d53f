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
  let forget = (): void => undefined
  const aborted = new Promise<never>((_resolve, reject) => {
    const onAbort = () => reject(new Aborted(signal))
    forget = whenAborted(signal, onAbort)
    if (signal.aborted) onAbort()
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    forget()
  }
}

interface Waiting {
  readonly acts: Set<() => void>
  readonly listener: () => void
}

/** One listener for each signal: Node warns of a leak if there are more than ten. */
const waitingFor = new WeakMap<CallSignal, Waiting>()

/** @returns what takes it back */
function whenAborted(signal: CallSignal, act: () => void): () => void {
  const { acts, listener } = waitingFor.get(signal) ?? beginWaiting(signal)
  acts.add(act)
  return () => {
    acts.delete(act)
    if (acts.size > 0) return
    signal.removeEventListener('abort', listener)
    waitingFor.delete(signal)
  }
}

function beginWaiting(signal: CallSignal): Waiting {
  const acts = new Set<() => void>()
  const listener = (): void => {
    for (const act of acts) act()
  }
  signal.addEventListener('abort', listener, { once: true })
  const waiting = { acts, listener }
  waitingFor.set(signal, waiting)
  return waiting
}
