import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import express, { type Express, type Request, type Response } from 'express'
import helmet from 'helmet'
import type { Reply } from './reply.js'

/** An application that takes requests as they were sent, and whose every answer has the headers of security. */
export function newExpressApp(): Express {
  const app = express()
  app.disable('etag').disable('x-powered-by')
  app.enable('strict routing').enable('case sensitive routing')
  app.set('query parser', false)
  app.use(secure)
  return app
}

/** The policy of every answer that brings none of its own: JSON needs nothing. */
const NOTHING_MAY_LOAD = {
  defaultSrc: ["'none'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
}

const secure = helmet({ contentSecurityPolicy: { useDefaults: false, directives: NOTHING_MAY_LOAD } })

/** What every answer has, for those that no application gives. */
export function securityHeaders(): OutgoingHttpHeaders {
  const res = new ServerResponse(new IncomingMessage(new Socket()))
  secure(res.req, res, () => {})
  return { ...res.getHeaders() }
}

/** What is refused is still read up to here: who sends too much should get its answer, not a broken connection. */
export const DISCARDED_BYTES = 1024 * 1024

/**
 * Sends an answer.
 *
 * @param hold told of its size in bytes, before they are written
 */
export function send(req: Request, res: Response, reply: Reply, hold?: (bytes: number) => void): void {
  const isLarge = !(Number(req.headers['content-length']) <= DISCARDED_BYTES)
  if (!req.complete && isLarge && reply.status >= 400) res.setHeader('Connection', 'close')
  res.locals.keyId = reply.keyId
  res.statusCode = reply.status
  for (const [name, value] of Object.entries(reply.headers ?? {})) res.setHeader(name, value)
  const text = reply.text ?? (reply.body === undefined ? undefined : JSON.stringify(reply.body))
  if (text === undefined) {
    res.end()
    return
  }
  const bytes = typeof text === 'string' ? Buffer.from(text) : text
  if (!res.hasHeader('Content-Type')) res.setHeader('Content-Type', 'application/json')
  res.setHeader('Content-Length', bytes.length)
  if (req.method === 'HEAD') {
    res.end()
    return
  }
  hold?.(bytes.length)
  if (bytes.length <= PIECE_BYTES) res.end(bytes)
  else Readable.from(piecesOf(bytes)).pipe(res)
}

/** What is written at a time: that a reader takes some of it is seen when it has taken one piece. */
const PIECE_BYTES = 16 * 1024

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += PIECE_BYTES) yield bytes.subarray(start, start + PIECE_BYTES)
}
