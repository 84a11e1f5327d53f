import type { IncomingMessage, ServerResponse } from 'node:http'
import { addAbortSignal, pipeline, Readable } from 'node:stream'
import type { Problem } from '@countersign/contract'
import { refusalText } from '../state/event-stream-text.js'
import type { Answer, Reply } from './reply.js'

/** The headers of every response: those that helmet sets, with a policy that allows no content to load. */
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

/** Names and values alternate, the form that `writeHead` processes fastest. */
const BLOCK = Object.entries({ ...SECURITY_HEADERS, 'Cache-Control': 'no-store' }).flat()

/** How many bytes of a rejected body are read, so that its sender gets the answer instead of a reset connection. */
export const DISCARDED_BYTES = 1024 * 1024

/** Answers are written in chunks, so that a reader makes visible progress with each chunk. */
const CHUNK_BYTES = 16 * 1024

interface StreamOptions {
  /**
   * Called with the size in bytes before they are written; for a stream, with the size of each piece that is not taken
   * yet.
   */
  readonly hold?: (bytes: number) => void
  /** Called when a stream fails; its response is then cut off. */
  readonly failed?: (error: unknown) => void
}

export interface SendOptions extends StreamOptions {
  /** Whether the connection closes after this response. */
  readonly isLast: boolean
}

/** Sends an answer. Only protocol errors are written without it. */
export function send(
  req: IncomingMessage,
  res: ServerResponse,
  { reply, requestId }: Answer,
  { isLast, ...options }: SendOptions,
): void {
  if (res.headersSent) {
    goOn(res, reply, options)
    return
  }
  const { status, stream, text = reply.body === undefined ? undefined : JSON.stringify(reply.body) } = reply
  const head = headOf(reply.headers, requestId)
  const isUnread = !req.complete && !(Number(req.headers['content-length']) <= DISCARDED_BYTES)
  if (isLast || (isUnread && status >= 400)) head.push('Connection', 'close')
  if (text === undefined) {
    res.writeHead(status, head)
    if (stream === undefined || req.method === 'HEAD') res.end()
    else pipe(res, stream, reply, options)
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
  options.hold?.(bytes)
  if (bytes <= CHUNK_BYTES) res.end(text)
  else Readable.from(chunksOf(typeof text === 'string' ? Buffer.from(text) : text)).pipe(res)
}

/** Continues the response of a reader of live events that waited for the start and already has its headers. */
function goOn(res: ServerResponse, reply: Reply, options: StreamOptions): void {
  if (reply.stream !== undefined) pipe(res, reply.stream, reply, options)
  else res.end(refusalText(reply.body as Problem))
}

/**
 * Connects the two ends: an error in the stream cuts the response off, and a caller that disconnects ends the stream.
 */
function pipe(
  res: ServerResponse,
  stream: NonNullable<Reply['stream']>,
  { cutOff }: Reply,
  { hold, failed }: StreamOptions,
): void {
  const source = Readable.from(piecesOf(stream, hold))
  if (cutOff !== undefined) addAbortSignal(cutOff, source)
  pipeline(source, res, (error) => {
    const isWanted = error?.code === 'ERR_STREAM_PREMATURE_CLOSE' || error?.code === 'ABORT_ERR'
    if (error && !isWanted) failed?.(error)
  })
}

/**
 * Returns the headers of a reply, names and values alternating. Its own headers come before those of every response.
 */
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

/** Yields a stream in chunks, and counts each chunk until it is taken. */
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
