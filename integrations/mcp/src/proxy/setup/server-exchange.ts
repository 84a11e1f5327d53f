/** Sends our requests to a server, over any transport. */
import { printable } from '@countersign/client/text'
import {
  asksForAnswer,
  errorMessage,
  type Incoming,
  isObject,
  METHOD_NOT_FOUND,
  type RequestMessage,
  type ResponseMessage,
} from '../../messages/json-rpc.js'
import { withGivenId } from '../../messages/odd-ids.js'

export interface ServerExchange {
  /**
   * Resolves with the result of a request.
   *
   * @throws ServerRefusal for an error response; Error for no response
   */
  request(method: string, params: object): Promise<Readonly<Record<string, unknown>>>
  /** @throws Error if the message cannot be sent */
  notify(method: string): Promise<void>
  /** Sets the version that the handshake agreed on, for transports that send it with later requests. */
  useVersion?(protocolVersion: string): void
  /** Ends the session, and a server that was started for it. Never rejects. */
  close(): Promise<void>
}

/** An error response. The message contains its words in printable form. */
export class ServerRefusal extends Error {
  override readonly name = 'ServerRefusal'

  constructor(method: string, error: unknown) {
    const { code, message } = Object(error ?? {})
    super(`The server refused ${method} (${printable(`${code}: ${message}`, 200)}).`)
  }
}

/** @throws ServerRefusal for an error; Error for a response without a result */
export function resultIn({ result, error }: ResponseMessage, method: string): Readonly<Record<string, unknown>> {
  if (error !== undefined) throw new ServerRefusal(method, error)
  if (!isObject(result)) throw new Error(`The server answered ${method} without a result.`)
  return result
}

/** The answer to a message of the server, if it expects one. */
export function answerTo(read: Incoming, message: unknown): ResponseMessage | undefined {
  if (read.kind === 'request') return withGivenId(answerToRequest(read.message))
  if (read.kind !== 'invalid' || !asksForAnswer(message)) return undefined
  return withGivenId(errorMessage(read.id ?? null, read.error))
}

/** Refuses what this client declares: it declares capabilities only to be shown all tools. */
function answerToRequest({ id, method }: RequestMessage): ResponseMessage {
  const jsonrpc = '2.0'
  if (method === 'ping') return { jsonrpc, id, result: {} }
  if (method === 'roots/list') return { jsonrpc, id, result: { roots: [] } }
  return errorMessage(id, { code: METHOD_NOT_FOUND, message: 'This client only lists the tools.' })
}
