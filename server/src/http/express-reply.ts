import { IncomingMessage, type OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import express, { type Express, type Request, type Response } from 'express'
import helmet from 'helmet'
import type { Reply } from './reply.js'

/** An application that leaves requests as they were sent and sets the security headers on every answer. */
export function newExpressApp(): Express {
  const app = express()
  app.disable('etag').disable('x-powered-by')
  app.enable('strict routing').enable('case sensitive routing')
  app.set('query parser', false)
  app.use(secure)
  return app
}

/** The content security policy of every answer that does not set its own. JSON loads nothing. */
const NOTHING_MAY_LOAD = {
  defaultSrc: ["'none'"],
  baseUri: ["'none'"],
  formAction: ["'none'"],
  frameAncestors: ["'none'"],
}

const secure = helmet({ contentSecurityPolicy: { useDefaults: false, directives: NOTHING_MAY_LOAD } })

/** The security headers, for answers that are sent without the application. */
export function securityHeaders(): OutgoingHttpHeaders {
  const res = new ServerResponse(new IncomingMessage(new Socket()))
  secure(res.req, res, () => {})
  return { ...res.getHeaders() }
}

/** How much of a rejected body is read: its sender then gets the answer, and not a reset connection. */
export const DISCARDED_BYTES = 1024 * 1024

/**
 * Sends an answer.
 *
 * @param hold called with the size in bytes before they are written
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
  if (bytes.length <= CHUNK_BYTES) res.end(bytes)
  else Readable.from(chunksOf(bytes)).pipe(res)
}

/** Answers are written in chunks: a reader makes visible progress with each chunk that it reads. */
const CHUNK_BYTES = 16 * 1024

function* chunksOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES)
}
