/** Reads the body of a request unchanged, because a signature covers its bytes. */
import type { IncomingMessage } from 'node:http'

/** Far larger than any event. */
const MAX_BYTES = 256 * 1024

/** Thrown when a parser has already read the body. Its code is that of the operator's warning. */
export class ParsedBody extends TypeError {
  readonly code = 'COUNTERSIGN_WEBHOOK_BODY_PARSED'

  constructor(what: string) {
    super(
      `${what}, so the bytes that were signed are gone: put the route of webhookReceiver before app.use(express.json())`,
    )
  }
}

/** Any caller can cause this. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'

  constructor() {
    super(`the body has more than ${MAX_BYTES} bytes`)
  }
}

/**
 * Reads the body, or takes the bytes or the text that a parser has left.
 *
 * @throws ParsedBody, BodyTooLarge, and the error that ends the connection
 */
export async function readRawBody(req: IncomingMessage & { readonly body?: unknown }): Promise<Uint8Array | string> {
  const { body } = req
  if (typeof body === 'string' || body instanceof Uint8Array) return bounded(body)
  if (body !== undefined) throw new ParsedBody('req.body was parsed')
  if (req.readableDidRead || req.readableEncoding !== null)
    throw new ParsedBody('the body was read by other middleware')
  if (Number(req.headers['content-length']) > MAX_BYTES) throw new BodyTooLarge()
  return bytesOf(req)
}

function bounded<Body extends Uint8Array | string>(body: Body): Body {
  if (Buffer.byteLength(body) > MAX_BYTES) throw new BodyTooLarge()
  return body
}

function bytesOf(req: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const onEarlyEnd = (): void => reject(new Error('the connection ended before the body did'))
    // The end is reported only once.
    if (req.destroyed) return onEarlyEnd()
    const chunks: Buffer[] = []
    let length = 0
    const onData = (chunk: Buffer): void => {
      length += chunk.length
      if (length <= MAX_BYTES) return void chunks.push(chunk)
      // The rest is read and dropped, so that the answer arrives.
      req.off('data', onData).resume()
      reject(new BodyTooLarge())
    }
    req.on('data', onData)
    req.once('end', () => resolve(Buffer.concat(chunks)))
    req.on('error', reject)
    // This listener has no effect once the body has ended.
    req.once('close', onEarlyEnd)
  })
}
