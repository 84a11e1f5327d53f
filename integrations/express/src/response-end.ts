/** How a response really ended: what Express' `finish` alone does not tell once the caller has left. */
import { isOutcomeUnknown } from '@countersign/client/kernel'
import type { Request, Response } from 'express'
import { RouteDeniedError } from './route-denied-error.js'

/**
 * - `answered`: the handler ended the response, with the status that was sent, whether or not anybody was there to read it; or
 *   an error handler did, after `error`;
 * - `failed`: it threw in the middle of its response;
 * - `unknown`: the caller left and the handler never ended the response, or was cut off by that; or it threw in the middle of
 *   its response what says that nobody knows.
 */
export type ResponseEnd =
  | { readonly kind: 'answered'; readonly status: number; readonly error: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'unknown'; readonly error?: unknown }

interface WatchOptions {
  /** Aborted when nobody waits for the response any more. */
  readonly gone: AbortSignal
  /** How long a handler may go on after its caller has left, in milliseconds. */
  readonly graceMs: number
  /** Called once. */
  readonly onEnd: (end: ResponseEnd) => void
}

type OnError = (error: unknown) => void

const watches = new WeakMap<Response, OnError[]>()

/** Tells once how the response ends. To be called in the turn in which the handler is. */
export function watchResponse(res: Response, { gone, graceMs, onEnd }: WatchOptions): void {
  let isOver = false
  let timer: NodeJS.Timeout | undefined
  let thrown: unknown

  const end = (how: ResponseEnd): void => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    onEnd(how)
  }
  const sentStatus = catchStatus(res)
  const answered = (): void => end({ kind: 'answered', status: sentStatus(), error: thrown })
  const late = catchEnd(res, () => {
    if (gone.aborted) answered()
  })
  const onGone = (): void => {
    if (isOver) return
    if (late.isEnded() || res.writableEnded) {
      answered()
      return
    }
    // Whatever has wrapped the response meanwhile may keep the end to itself now.
    late.catchAgain()
    timer = setTimeout(() => (res.writableEnded ? answered() : end({ kind: 'unknown' })), graceMs).unref()
  }
  if (gone.aborted) onGone()
  else gone.addEventListener('abort', onGone, { once: true })
  res.once('finish', answered)
  const onError: OnError = (error) => {
    if (res.writableEnded || late.isEnded()) return
    if (!res.headersSent) {
      // An error handler answers it.
      if (thrown === undefined || mayHaveRun(error)) thrown = error
      return
    }
    // A stream that breaks because its reader left says nothing about the action.
    const isUnknown = (gone.aborted && !res.errored) || mayHaveRun(error)
    end({ kind: isUnknown ? 'unknown' : 'failed', error })
  }
  watches.set(res, [...(watches.get(res) ?? []), onError])
}

/**
 * Whether what failed with this error may have been done all the same: it ran out of time, or lost its connection. A refusal
 * of another guard of the route says nothing of that kind, whatever its cause.
 */
export function mayHaveRun(error: unknown): boolean {
  return !RouteDeniedError.isInstance(error) && isOutcomeUnknown(error)
}

/** An error that came to the app's error handlers. */
export function noteError(res: Response, error: unknown): void {
  for (const onError of watches.get(res) ?? []) onError(error)
}

/** Aborted when nobody waits for the response any more: the caller has left, or has it. */
export function goneSignal(req: Request, res: Response): AbortSignal {
  const gone = new AbortController()
  // Whoever left while something else was waited for has no `close` any more.
  if (res.destroyed || req.socket?.destroyed) gone.abort()
  res.once('close', () => gone.abort())
  // A response that waits for its turn on the connection has no `close`.
  req.once('close', () => {
    if (req.socket?.destroyed) gone.abort()
  })
  return gone.signal
}

/** Tells whether somebody answers in the place of the handler from now on, such as a time limit. */
export function watchOtherAnswers(res: Response): () => boolean {
  // Headers may have been sent ahead, as for a stream of events.
  const isBegun = res.headersSent
  return () => res.writableEnded || (!isBegun && res.headersSent)
}

/** The status that leaves: what `res.statusCode` is set to after that, say by an error handler, is told to nobody. */
function catchStatus(res: Response): () => number {
  let sent = res.headersSent ? res.statusCode : undefined
  const inner = res.writeHead
  res.writeHead = function (this: Response, ...args: Parameters<Response['writeHead']>) {
    const result = inner.apply(this, args)
    sent ??= res.statusCode
    return result
  } as Response['writeHead']
  return () => sent ?? res.statusCode
}

/** Notices that somebody calls `res.end`, through whatever else has wrapped it. */
function catchEnd(res: Response, onEnded: () => void): { isEnded(): boolean; catchAgain(): void } {
  let isEnded = false
  let wrapper: Response['end'] | undefined
  const wrap = (): void => {
    if (res.end === wrapper) return
    const inner = res.end
    wrapper = function (this: Response, ...args: Parameters<Response['end']>) {
      isEnded = true
      onEnded()
      return inner.apply(this, args)
    } as Response['end']
    res.end = wrapper
  }
  wrap()
  return { isEnded: () => isEnded, catchAgain: wrap }
}
