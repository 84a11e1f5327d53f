/** How a response really ended: what Express' `finish` alone does not tell once the caller has left. */
import type { Request, Response } from 'express'

/**
 * - `answered`: the handler ended the response, with `res.statusCode`, whether or not anybody was there to read it;
 * - `failed`: it threw in the middle of its response;
 * - `unknown`: the caller left and the handler never ended the response, or was cut off by that.
 */
export type ResponseEnd =
  | { readonly kind: 'answered' }
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

  const end = (how: ResponseEnd): void => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    onEnd(how)
  }
  const late = catchEnd(res, () => {
    if (gone.aborted) end({ kind: 'answered' })
  })
  const onGone = (): void => {
    if (isOver) return
    if (late.isEnded() || res.writableEnded) {
      end({ kind: 'answered' })
      return
    }
    // Whatever has wrapped the response meanwhile may keep the end to itself now.
    late.catchAgain()
    timer = setTimeout(() => end(res.writableEnded ? { kind: 'answered' } : { kind: 'unknown' }), graceMs).unref()
  }
  if (gone.aborted) onGone()
  else gone.addEventListener('abort', onGone, { once: true })
  res.once('finish', () => end({ kind: 'answered' }))
  const onError: OnError = (error) => {
    // What is not sent yet goes to an error handler, which answers.
    if (!res.headersSent || res.writableEnded || late.isEnded()) return
    // A stream that breaks because its reader left says nothing about the action.
    if (gone.aborted && !res.errored) end({ kind: 'unknown', error })
    else end({ kind: 'failed', error })
  }
  watches.set(res, [...(watches.get(res) ?? []), onError])
}

/** An error that came to the app's error handlers. */
export function noteError(res: Response, error: unknown): void {
  for (const onError of watches.get(res) ?? []) onError(error)
}

/** Aborted when nobody waits for the response any more: the caller has left, or has it. */
export function goneSignal(req: Request, res: Response): AbortSignal {
  const gone = new AbortController()
  res.once('close', () => gone.abort())
  // A response that waits for its turn on the connection has no `close`.
  req.once('close', () => {
    if (req.socket?.destroyed) gone.abort()
  })
  return gone.signal
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
