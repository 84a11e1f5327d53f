/** Why a request has no result: what the server, or the way to it, answered instead. A call is settled by these errors. */
import { STATUS_CODES } from 'node:http'
import type { ToolResult } from '../calls/result.js'
import { plainCopyOf } from '../json/exact-number.js'
import { INTERNAL_ERROR, isObject, type ProtocolError, type ResponseMessage } from './json-rpc.js'

/** @throws AnswerOfServer; AnswerLost for a response that is neither a result nor an error */
export function resultOf({ result, error }: ResponseMessage): ToolResult {
  if (isObject(error) && typeof error.message === 'string') throw new AnswerOfServer(error as unknown as ProtocolError)
  if (isObject(result)) return result
  throw new AnswerLost('it is neither a result nor an error')
}

/** The error that the server answered. Its text decides the settlement, as the text of a result does. */
export class AnswerOfServer extends Error {
  readonly data: unknown

  constructor(readonly told: ProtocolError) {
    super(saysOutcome(told) ? told.message : `The answer was lost: ${told.message}`)
    this.data = plainCopyOf(told.data)
  }
}

/** Both SDKs answer with this code when a request of theirs times out. */
const REQUEST_TIMEOUT = -32_001

/** Whether the text says what happened to the call, in any language. */
function saysOutcome({ code, message }: ProtocolError): boolean {
  return Number(code) !== REQUEST_TIMEOUT && message.trim() !== ''
}

/** It is unknown whether the call ran. */
export class AnswerLost extends Error {
  override readonly name = 'AnswerLost'

  constructor(reason: string) {
    super(`The answer was lost: ${reason}`)
  }
}

/** The answer exceeds a limit and is not read. Source: docs/mcp-methods.md "Limits of a message". */
export class AnswerTooLarge extends Error {
  override readonly name = 'AnswerTooLarge'
  /** The call may have run. The settlement reads that from this code. */
  readonly code = 'ECONNRESET'
  readonly told: ProtocolError

  /** @param most the limit, such as `16777216 bytes` */
  constructor(readonly most: string) {
    super(`The answer of the server is too large: it has more than ${most}`)
    this.told = { code: INTERNAL_ERROR, message: this.message }
  }
}

/** Headers that a client needs: where to get a token, and when to try again. */
const TOLD_HEADERS = ['www-authenticate', 'retry-after']

interface AnsweredHeaders {
  readonly [name: string]: string | readonly string[] | undefined
}

/** An HTTP status of a server other than success. A call that the server refused did not run. */
export class UpstreamStatus extends Error {
  override readonly name = 'UpstreamStatus'
  /** The same for clients that do not see HTTP. */
  readonly told: ProtocolError

  /** @param error the error in the body, if that is a JSON-RPC error */
  constructor(
    readonly status: number,
    headers: AnsweredHeaders = {},
    error?: unknown,
  ) {
    super(`The server answered HTTP ${status}`)
    const data = { status, headers: toldHeaders(headers) }
    this.told = isError(error)
      ? { data, ...error }
      : { code: INTERNAL_ERROR, message: wordsOf(status, data.headers), data }
  }
}

function toldHeaders(headers: AnsweredHeaders): Readonly<Record<string, string>> {
  const told = TOLD_HEADERS.filter((name) => headers[name] !== undefined)
  return Object.fromEntries(told.map((name) => [name, String(headers[name])]))
}

function wordsOf(status: number, headers: Readonly<Record<string, string>>): string {
  const { [status]: words = '' } = STATUS_CODES
  const named = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const details = named.length === 0 ? '' : ` (${named.join('; ')})`
  return `The server answered HTTP ${status} ${words}`.trim() + details
}

function isError(error: unknown): error is ProtocolError {
  return isObject(error) && Number.isInteger(Number(error.code)) && typeof error.message === 'string'
}
