import type { Request, Response } from 'express'

/** Whether it is a preflight of CORS, which a browser sends without credentials before it sends what it is about. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

/**
 * 204, with the headers that are set already, and nothing else runs. To pass a preflight on unasked would be a way around the
 * guard for a caller that pretends to send one.
 */
export function answerPreflight(res: Response): void {
  if (!res.headersSent) res.status(204).end()
}
