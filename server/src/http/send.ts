import type { IncomingMessage, ServerResponse } from 'node:http'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import type { Answer, Reply } from './reply.js'

/** The headers of every response: as helmet sets them, with a policy under which nothing may load. */
export const SECURITY_HEADERS = {
  'Content-Security-Policy': "default-src 'none';base-uri 'none';form-action 'none';frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Origin-Agent-Cluster': '?1',
  'Referrer-Policy': 'no-referrer',
  'Strict-Transport-Security': 'max-age=31536000; includeSubDomains',
  'X-Content-Type-Options': 'nosniff',
  'X-DNS-Prefetch-Control': 'off',
  'X-Download-Options': 'noopen',
  'X-Frame-Options': 'SAMEORIGIN',
  'X-Permitted-Cross-Domain-Policies': 'none',
  'X-XSS-Protection': '0',
}

/** Names and values in turn, as `writeHead` takes them fastest. */
const BLOCK = Object.entries({ ...SECURITY_HEADERS, 'Cache-Control': 'no-store' }).flat()

/** How much of a rejected body is read: its sender then gets the answer, and not a reset connection. */
export const DISCARDED_BYTES = 1024 * 1024

/** Answers are written in chunks: a reader makes visible progress with each chunk that it reads. */
const CHUNK_BYTES = 16 * 1024

export interface SendOptions {
  /** Whether the connection is to close after this response. */
  readonly isLast: boolean
  /** Called with the size in bytes before they are written; of a stream, with that of the piece that is not taken yet. */
  readonly hold?: (bytes: number) => void
  /** Called when a stream fails, which cuts its response off. */
  readonly failed?: (error: unknown) => void
}

/** Sends an answer. Only protocol errors write a response without it. */
export function send(
  req: IncomingMessage,
  res: ServerResponse,
  { reply, requestId }: Answer,
  { isLast, hold, failed }: SendOptions,
): void {
  const { status, stream, cutOff, text = reply.body === undefined ? undefined : JSON.stringify(reply.body) } = reply
  const head = headOf(reply.headers, requestId)
  const isUnread = !req.complete && !(Number(req.headers['content-length']) <= DISCARDED_BYTES)
  if (isLast || (isUnread && status >= 400)) head.push('Connection', 'close')
  if (text === undefined) {
    res.writeHead(status, head)
    if (stream === undefined || req.method === 'HEAD') res.end()
    // What ends one of the two ends the other: an error cuts the response off, and a caller who leaves ends the stream.
    else {
      const source = Readable.from(piecesOf(stream, hold))
      if (cutOff !== undefined) addAbortSignal(cutOff, source)
      pipeline(source, res, (error) => {
        const isWanted = error?.code === 'ERR_STREAM_PREMATURE_CLOSE' || error?.code === 'ABORT_ERR'
        if (error && !isWanted) failed?.(error)
      })
    }
    return
  }
  if (reply.headers?.['Content-Type'] === undefined) head.push('Content-Type', 'application/json')
  const bytes = typeof text === 'string' ? Buffer.byteLength(text) : text.length
  head.push('Content-Length', String(bytes))
  res.writeHead(status, head)
  if (req.method === 'HEAD') {
    res.end()
    return
  }
  hold?.(bytes)
  if (bytes <= CHUNK_BYTES) res.end(text)
  else Readable.from(chunksOf(typeof text === 'string' ? Buffer.from(text) : text)).pipe(res)
}

/** The headers of a reply: names and values in turn. Its own ones come before those that every response has. */
export function headOf(headers: Reply['headers'], requestId: string): string[] {
  const head = BLOCK.slice()
  for (const name in headers) {
    const at = head.indexOf(name)
    if (at === -1) head.push(name, headers[name] as string)
    else head[at + 1] = headers[name] as string
  }
  head.push('X-Request-Id', requestId)
  return head
}

/** A stream in chunks. One that is not taken yet is held. */
async function* piecesOf(stream: AsyncIterable<string | Uint8Array>, hold?: (bytes: number) => void) {
  for await (const piece of stream) {
    for (const chunk of chunksOf(typeof piece === 'string' ? Buffer.from(piece) : piece)) {
      hold?.(chunk.length)
      yield chunk
    }
    hold?.(0)
  }
}

function* chunksOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) yield bytes.subarray(start, start + CHUNK_BYTES)
}
