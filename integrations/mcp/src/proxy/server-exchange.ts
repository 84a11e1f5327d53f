/** Requests of our own to a server, whatever carries them. */
import { printable } from '@countersign/client/kernel'
import { errorMessage, isObject, METHOD_NOT_FOUND, type RequestMessage, type ResponseMessage } from '../json-rpc.js'

export interface ServerExchange {
  /**
   * The result of a request.
   *
   * @throws ServerRefusal where the server answers by an error; Error where it does not answer
   */
  request(method: string, params: object): Promise<Readonly<Record<string, unknown>>>
  /** @throws Error where the server cannot be told */
  notify(method: string): Promise<void>
  /** Of the handshake, for all requests after it. */
  useVersion(protocolVersion: string): void
  /** Ends the session, and the server where it was started for it. Never rejects. */
  close(): Promise<void>
}

/** A request that the server has answered by an error; the message holds its words, as they can be printed. */
export class ServerRefusal extends Error {
  override readonly name = 'ServerRefusal'

  constructor(method: string, error: unknown) {
    const { code, message } = Object(error ?? {})
    super(`The server refused ${method} (${printable(`${code}: ${message}`, 200)}).`)
  }
}

/** @throws ServerRefusal, and Error for a response without a result */
export function resultIn({ result, error }: ResponseMessage, method: string): Readonly<Record<string, unknown>> {
  if (error !== undefined) throw new ServerRefusal(method, error)
  if (!isObject(result)) throw new Error(`The server answered ${method} without a result.`)
  return result
}

/** What this client answers to a server that asks: it is a client by its words alone, to be shown all tools. */
export function answerTo({ id, method }: RequestMessage): ResponseMessage {
  const jsonrpc = '2.0'
  if (method === 'ping') return { jsonrpc, id, result: {} }
  if (method === 'roots/list') return { jsonrpc, id, result: { roots: [] } }
  return errorMessage(id, { code: METHOD_NOT_FOUND, message: 'This client only lists the tools.' })
}
