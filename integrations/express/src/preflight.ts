import type { Request, Response } from 'express'

/** Whether it is a CORS preflight, which a browser sends without credentials before the actual request. */
export function isPreflight({ method, headers }: Request): boolean {
  return method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
}

/**
 * Answers 204 with the headers that are already set, and runs nothing else. If preflights passed without a question, a
 * caller could bypass the guard by imitating one.
 */
export function answerPreflight(res: Response): void {
  if (!res.headersSent) res.status(204).end()
}
