/** Stops waiting: for callers who have left, and for answers that are late. */
import { UnavailableError } from '../../errors/unavailable-error.js'
import type { CallSignal } from '../../options.js'

/** Not a refusal: the caller gets the reason of its own signal. */
export class Aborted {
  readonly reason: unknown

  constructor(signal: CallSignal) {
    this.reason = abortReason(signal)
  }
}

export function abortReason(signal: CallSignal): unknown {
  return signal.reason ?? new DOMException('This operation was aborted', 'AbortError')
}

/** The result of the work. Throws Aborted as soon as the signal is aborted; the work then continues unseen. */
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

/** One listener for each signal: Node warns of a leak if there are more than ten. */
const waitingFor = new WeakMap<CallSignal, ReturnType<typeof beginWaiting>>()

/** @returns a function that undoes it */
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

function beginWaiting(signal: CallSignal): { readonly acts: Set<() => void>; readonly listener: () => void } {
  const acts = new Set<() => void>()
  const listener = (): void => {
    for (const act of acts) act()
  }
  signal.addEventListener('abort', listener, { once: true })
  const waiting = { acts, listener }
  waitingFor.set(signal, waiting)
  return waiting
}

/** The time limit has passed without an answer. The answer may still come. */
export class Late {
  readonly unavailable: UnavailableError

  constructor(timeoutMs: number) {
    this.unavailable = new UnavailableError('timeout', `there was no decision within ${timeoutMs} ms`)
  }
}

/** The result of the work. Throws Late after the time in milliseconds; the work then continues unseen. */
export async function unlessLate<Result>(work: Promise<Result>, timeoutMs: number): Promise<Result> {
  if (await endsWithin(timeoutMs, work)) return work
  throw new Late(timeoutMs)
}

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

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
