import type { Request, Response } from 'express'

/**
 * Answers a preflight of CORS, which a browser sends without credentials before it sends what it is about: 204, with the
 * headers that are set already, and nothing else runs. To pass it on unasked would be a way around the guard for whoever
 * pretends to send one. False when it is none.
 */
export function answerPreflight({ method, headers }: Request, res: Response): boolean {
  const isPreflight =
    method === 'OPTIONS' && headers.origin !== undefined && headers['access-control-request-method'] !== undefined
  if (isPreflight && !res.headersSent) res.status(204).end()
  return isPreflight
}
