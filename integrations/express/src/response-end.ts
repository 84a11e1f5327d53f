/**
 * Detects how a response really ended, which Express' `finish` alone does not show once the caller has disconnected.
 */
import { isOutcomeUnknown } from '@countersign/client/kernel'
import type { Request, Response } from 'express'
import { RouteDeniedError } from './route-denied-error.js'

/**
 * - `answered`: the handler ended the response, with the status that was sent, whether or not the caller still read it;
 *   or an error handler did, after `error`;
 * - `failed`: the handler threw in the middle of its response;
 * - `unknown`: the caller disconnected and the handler never ended the response, or was cut off by that; or it threw an
 *   error with an unknown outcome in the middle of its response.
 */
export type ResponseEnd =
  | { readonly kind: 'answered'; readonly status: number; readonly error: unknown }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'unknown'; readonly error?: unknown }

interface WatchOptions {
  /** Aborted when the caller no longer waits for the response. */
  readonly gone: AbortSignal
  /** How long a handler may continue after its caller has disconnected, in milliseconds. */
  readonly graceMs: number
  /** Called once. */
  readonly onEnd: (end: ResponseEnd) => void
}

type OnError = (error: unknown) => void

const watches = new WeakMap<Response, OnError[]>()

/** Reports once how the response ends. Call it in the same turn as the handler. */
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
    // Code that has wrapped the response since may hide its end, so this wraps it again.
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
    // A stream that breaks because its reader disconnected says nothing about the action.
    const isUnknown = (gone.aborted && !res.errored) || mayHaveRun(error)
    end({ kind: isUnknown ? 'unknown' : 'failed', error })
  }
  watches.set(res, [...(watches.get(res) ?? []), onError])
}

/**
 * Whether an action that failed with this error may have run all the same: it timed out, or lost its connection. A
 * refusal of another guard of the route never says that, whatever its cause.
 */
export function mayHaveRun(error: unknown): boolean {
  return !RouteDeniedError.isInstance(error) && isOutcomeUnknown(error)
}

/** Records an error that reached the app's error handlers. */
export function noteError(res: Response, error: unknown): void {
  for (const onError of watches.get(res) ?? []) onError(error)
}

/** Aborted when no one waits for the response: the caller has disconnected, or has received it. */
export function goneSignal(req: Request, res: Response): AbortSignal {
  const gone = new AbortController()
  // The `close` of a client that disconnected during an earlier wait has already fired.
  if (res.destroyed || req.socket?.destroyed) gone.abort()
  res.once('close', () => gone.abort())
  // A response that waits for its turn on the connection has no `close`.
  req.once('close', () => {
    if (req.socket?.destroyed) gone.abort()
  })
  return gone.signal
}

/** Detects whether other code answers instead of the handler from now on, such as a time limit. */
export function watchOtherAnswers(res: Response): () => boolean {
  // Headers may have been sent early, as for a stream of events.
  const isBegun = res.headersSent
  return () => res.writableEnded || (!isBegun && res.headersSent)
}

/**
 * Returns the status that is sent. A later change of `res.statusCode`, for example by an error handler, is not sent.
 */
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

/** Detects a call of `res.end`, also through other wrappers. */
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
