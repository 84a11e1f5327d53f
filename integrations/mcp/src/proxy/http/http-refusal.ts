/** Requests that the proxy refuses before it reads any message. */
import type { IncomingMessage } from 'node:http'
import { parseClientText } from '../message-text.js'
import { type Headers, mediaTypeOf } from './upstream-endpoint.js'

/** The limit of servers of both SDKs. */
const MAX_REQUEST_BYTES = 4 * 1024 * 1024

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]']

/** The client receives `message` as a JSON-RPC error with this code. */
export class HttpRefusal extends Error {
  readonly code: number
  readonly headers: Headers

  constructor(
    readonly status: number,
    message: string,
    { code = -32000, headers = {} }: { code?: number; headers?: Headers } = {},
  ) {
    super(message)
    this.code = code
    this.headers = headers
  }
}

/** Whether only programs on this machine can connect to the listener. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/**
 * A web page can reach a loopback listener through its own domain name (DNS rebinding). So a loopback listener accepts only loopback
 * host names, and every listener refuses pages of other sites.
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
 * The parsed body of a POST.
 *
 * @throws HttpRefusal 415 for a Content-Type other than JSON in UTF-8, 413 for more than MAX_REQUEST_BYTES, 400 for invalid JSON
 */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const { headers } = request
  const charset = /;\s*charset\s*=\s*"?([^";]*)/i.exec(headers['content-type'] ?? '')?.[1] ?? 'utf-8'
  if (mediaTypeOf(headers['content-type']) !== 'application/json' || !/^utf-?8$/i.test(charset.trim()))
    throw new HttpRefusal(415, 'Content-Type must be application/json in UTF-8')
  if ((headers['content-encoding'] ?? 'identity') !== 'identity')
    throw new HttpRefusal(415, 'Compressed requests are not supported')
  const body = await readBytes(request, MAX_REQUEST_BYTES)
  if (body === undefined)
    throw new HttpRefusal(413, `The request is larger than ${MAX_REQUEST_BYTES} bytes`, {
      headers: { connection: 'close' },
    })
  try {
    return parseClientText(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new HttpRefusal(400, 'Parse error: invalid JSON', { code: -32700 })
  }
}

/** The whole body. Undefined if it is larger. */
export async function readBytes(message: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  if (Number(message.headers['content-length'] ?? 0) > maxBytes) return undefined
  const chunks: Buffer[] = []
  let length = 0
  // Leaving the loop early would close the connection before the refusal is sent.
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
