/** HTTP requests that the proxy refuses before it reads any message. */
import type { IncomingMessage } from 'node:http'
import { type Headers, mediaTypeOf } from './upstream-endpoint.js'

/** The same as servers of both SDKs take. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

/** `message` is shown to the client, as a JSON-RPC error of this code. */
export class HttpRefusal extends Error {
  readonly status: number
  readonly code: number
  readonly headers: Headers

  constructor(
    status: number,
    message: string,
    { code = -32000, headers = {} }: { code?: number; headers?: Headers } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.headers = headers
  }
}

/** Whether nobody but this machine can connect to what listens there. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/**
 * A web page can reach a loopback listener through a domain name of its own (DNS rebinding). So a loopback listener accepts only
 * loopback host names, and every listener refuses the pages of other sites.
 *
 * @throws HttpRefusal 403
 */
export function assertNoRebinding({ headers }: IncomingMessage, listeningOn: string): void {
  const names = isLoopback(listeningOn) ? [...LOOPBACK_NAMES, listeningOn] : undefined
  const host = hostIn(`http://${headers.host ?? ''}`)
  if (host === undefined || (names !== undefined && !names.includes(host.hostname)))
    throw new HttpRefusal(403, 'Forbidden: this Host is not allowed')
  if (headers.origin === undefined) return
  const origin = hostIn(headers.origin)
  const isOurs = origin !== undefined && (origin.host === host.host || names?.includes(origin.hostname))
  if (!isOurs) throw new HttpRefusal(403, 'Forbidden: this Origin is not allowed')
}

/**
 * The body of a POST: what `JSON.parse` gave.
 *
 * @throws HttpRefusal 415 for a Content-Type other than JSON in UTF-8, 413 for more than MAX_REQUEST_BYTES, 400 for invalid JSON
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const { headers } = request
  const charset = /;\s*charset\s*=\s*"?([^";]*)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  if (mediaTypeOf(headers['content-type']) !== 'application/json' || !/^utf-?8$/i.test(charset.trim()))
    throw new HttpRefusal(415, 'Content-Type has to be application/json in UTF-8')
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new HttpRefusal(415, 'Compressed requests are not supported')
  const body = await readBytes(request, MAX_REQUEST_BYTES)
  if (body === undefined)
    throw new HttpRefusal(413, `The request is larger than ${MAX_REQUEST_BYTES} bytes`, {
      headers: { connection: 'close' },
    })
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new HttpRefusal(400, 'Parse error: invalid JSON', { code: -32700 })
  }
}

/** The whole body; undefined where it has more bytes. */
export async function readBytes(message: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(message.headers['content-length'] ?? 0) > maxBytes) return undefined
  const chunks: Buffer[] = []
  let length = 0
  // Left in the middle it would end the connection, and with it the refusal.
  for await (const chunk of message.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length
    if (length > maxBytes) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function hostIn(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined
}
