/** A message of `tools/call` and its response, read for the gate. */
import { DeniedError } from '@countersign/client'
import type { Brought } from './call-leg.js'
import type { AuthInfo, Caller, GatedCall } from './gated-call.js'
import {
  ambiguousMember,
  ambiguousMemberWithin,
  INVALID_PARAMS,
  isObject,
  type ProtocolError,
  type RequestMessage,
  type ResponseMessage,
} from './json-rpc.js'
import { CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION } from './protocol.js'
import type { ToolResult } from './tool-result.js'

/** What is known of a message of the client beside its text. */
export interface ClientContext {
  readonly authInfo?: AuthInfo | undefined
  readonly sessionId?: string | undefined
  /** Aborted when the client is gone. A call that is not yet forwarded is then dropped. */
  readonly signal?: AbortSignal | undefined
}

/** What every request of 2026-07-28 has in its `_meta`. */
const ENVELOPE: ReadonlySet<string> = new Set([PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO])

/** The params of a `tools/call`. */
export interface CallParams {
  readonly name: string
  /** Undefined where there are none. */
  readonly args: Readonly<Record<string, unknown>> | undefined
  readonly meta: Caller['meta']
  readonly wantsTask: boolean
  readonly brought: Brought
  /** The same, with these arguments where there were any, and what else is for the tool. */
  readonly paramsWith: (args: unknown, brought: Brought) => Readonly<Record<string, unknown>>
}

export interface ReadCall extends Pick<CallParams, 'wantsTask' | 'brought' | 'paramsWith'> {
  readonly call: GatedCall
  readonly args: Readonly<Record<string, unknown>>
  readonly fault: DeniedError | undefined
}

/** The sender of a request of any method. */
export function callerOf({ params }: RequestMessage, { authInfo, sessionId }: ClientContext): Caller {
  const { _meta: meta } = isObject(params) ? params : {}
  return { authInfo, sessionId, meta: isObject(meta) ? meta : {} }
}

/** The params, or what is wrong with them. */
export function readParams(params: unknown): CallParams | ProtocolError {
  if (!isObject(params)) return invalidParams('params has to be an object')
  const { requestState, inputResponses, ...asked } = params
  const { name, arguments: args, _meta: meta = {}, task } = asked
  if (typeof name !== 'string') return invalidParams('name has to be a string')
  if (args !== undefined && !isObject(args)) return invalidParams('arguments has to be an object')
  if (!isObject(meta)) return invalidParams('_meta has to be an object')
  const paramsWith: CallParams['paramsWith'] = (given, forTool) => ({
    ...asked,
    ...forTool,
    ...(args !== undefined && { arguments: given }),
  })
  return { name, args, meta, wantsTask: isObject(task), brought: { requestState, inputResponses }, paramsWith }
}

/** The call, or what is wrong with it: also what a program behind the gate could read as another call. */
export function readCall({ params }: RequestMessage, { authInfo, sessionId }: ClientContext): ReadCall | ProtocolError {
  const read = readParams(params)
  if ('code' in read) return read
  const other = ambiguousMember(Object(params), ['name', 'arguments', '_meta', 'requestState', 'inputResponses'])
  if (other !== undefined) return invalidParams(`the member ${JSON.stringify(other)} can be confused with another one`)
  const { name, args = {}, meta, ...asks } = read
  return { call: { name, authInfo, sessionId, meta }, args, fault: faultOf(args), ...asks }
}

/** Params by which a request of the gate's own is one of the same protocol, for the same client, as a call. */
export function envelopeOf(meta: Caller['meta']): { readonly _meta?: object } {
  const members = Object.entries(meta).filter(([name]) => ENVELOPE.has(name))
  return members.length === 0 ? {} : { _meta: Object.fromEntries(members) }
}

/** What the client can do, as each request of 2026-07-28 says; undefined before that. */
export function capabilitiesIn(meta: Caller['meta']): unknown {
  return meta[PROTOCOL_VERSION] === undefined ? undefined : (meta[CLIENT_CAPABILITIES] ?? {})
}

/** A result that the gate itself gives, in the protocol of the request: since 2026-07-28 each says of which type it is. */
export function ownResult(result: ToolResult, meta: Caller['meta']): ToolResult {
  return meta[PROTOCOL_VERSION] === undefined ? result : { resultType: 'complete', ...result }
}

/** @throws AnswerOfServer, and AnswerLost for what says nothing */
export function resultOf({ result, error }: ResponseMessage): ToolResult {
  if (isObject(error) && typeof error.message === 'string') throw new AnswerOfServer(error as unknown as ProtocolError)
  if (isObject(result)) return result
  throw new AnswerLost('it is neither a result nor an error')
}

/** The error that the server has answered with. Its words can hold a budget, as those of a result can. */
export class AnswerOfServer extends Error {
  readonly told: ProtocolError
  readonly data: unknown

  constructor(told: ProtocolError) {
    super(saysOutcome(told) ? told.message : `The answer was lost: ${told.message}`)
    this.told = told
    this.data = told.data
  }
}

/** Both SDKs answer so when a request of their own has timed out. */
const REQUEST_TIMEOUT = -32_001

/** Whether the words say how far the call came, in whatever language they are. */
function saysOutcome({ code, message }: ProtocolError): boolean {
  return code !== REQUEST_TIMEOUT && message.trim() !== ''
}

/** Nobody knows how far the call came. */
export class AnswerLost extends Error {
  override readonly name = 'AnswerLost'

  constructor(reason: string) {
    super(`The answer was lost: ${reason}`)
  }
}

/** Refuses arguments that another program could read differently than the mapping does. */
function faultOf(args: object): DeniedError | undefined {
  try {
    const other = ambiguousMemberWithin(args)
    if (other === undefined) return undefined
    const detail = `The names of two arguments differ only in case: ${JSON.stringify(other)} can be confused with the other one.`
    return new DeniedError('arguments_refused', { detail })
  } catch (cause) {
    return new DeniedError('arguments_refused', { cause })
  }
}

function invalidParams(message: string): ProtocolError {
  return { code: INVALID_PARAMS, message: `Invalid params: ${message}` }
}
