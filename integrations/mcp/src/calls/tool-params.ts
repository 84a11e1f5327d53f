/** Reads messages of `tools/call`, and what every message says about its sender. */
import { DeniedError } from '@countersign/client'
import {
  ambiguousMember,
  ambiguousMemberWithin,
  INVALID_PARAMS,
  isObject,
  type ProtocolError,
  type RequestMessage,
} from '../messages/json-rpc.js'
import { CLIENT_CAPABILITIES, CLIENT_INFO, PROTOCOL_VERSION } from '../messages/protocol.js'
import { TOOL_CALL } from '../rules/methods.js'
import type { AuthInfo, Caller, GatedCall } from './call.js'
import type { Brought } from './leg.js'
import type { ToolResult } from './result.js'

/** What the gate knows of a message in addition to its text. */
export interface ClientContext {
  readonly authInfo?: AuthInfo | undefined
  readonly sessionId?: string | undefined
  /**
   * Identifies the connection, if `authInfo` and `sessionId` do not identify the client. Default: the id of the gate's connection.
   */
  readonly connection?: string | undefined
  /** Aborted when the client leaves. A call that is not forwarded yet is then dropped. */
  readonly signal?: AbortSignal | undefined
  /** Denies the call. Only faults of the message itself are known here. */
  readonly fault?: DeniedError | undefined
  /** The params with the digits of the client, if it wrote a number differently from JavaScript. */
  readonly written?: unknown
}

/** The members of `_meta` that every request of 2026-07-28 has. */
const ENVELOPE: ReadonlySet<string> = new Set([PROTOCOL_VERSION, CLIENT_CAPABILITIES, CLIENT_INFO])

export interface CallParams {
  readonly name: string
  /** Undefined if the call has no arguments. */
  readonly args: Readonly<Record<string, unknown>> | undefined
  readonly meta: Caller['meta']
  readonly wantsTask: boolean
  readonly brought: Brought
  /** The params with these arguments, unless the call had none, and with the part of `brought` that is for the tool. */
  readonly paramsWith: (args: unknown, brought: Brought) => Readonly<Record<string, unknown>>
}

export interface ReadCall extends Pick<CallParams, 'wantsTask' | 'brought' | 'paramsWith'> {
  readonly call: GatedCall
  readonly args: Readonly<Record<string, unknown>>
  readonly fault: DeniedError | undefined
}

export function callerOf({ params }: Pick<RequestMessage, 'params'>, { authInfo, sessionId }: ClientContext): Caller {
  const { _meta: meta } = isObject(params) ? params : {}
  return { authInfo, sessionId, meta: isObject(meta) ? meta : {} }
}

/** Returns what is wrong with params that cannot be read. */
export function readParams(params: unknown): CallParams | ProtocolError {
  if (!isObject(params)) return invalidParams('params must be an object')
  const { requestState, inputResponses, ...asked } = params
  const { name, arguments: args, _meta: meta = {}, task } = asked
  if (typeof name !== 'string') return invalidParams('name must be a string')
  if (args !== undefined && !isObject(args)) return invalidParams('arguments must be an object')
  if (!isObject(meta)) return invalidParams('_meta must be an object')
  const paramsWith: CallParams['paramsWith'] = (given, forTool) => ({
    ...asked,
    ...forTool,
    ...(args !== undefined && { arguments: given }),
  })
  return { name, args, meta, wantsTask: isObject(task), brought: { requestState, inputResponses }, paramsWith }
}

/** Returns what is wrong with a message that cannot be read, or that a server could read as another call. */
export function readCall(
  { params }: RequestMessage,
  { authInfo, sessionId, fault, written }: ClientContext,
): ReadCall | ProtocolError {
  const read = readParams(params)
  if ('code' in read) return read
  const other = ambiguousMember(Object(params), ['name', 'arguments', '_meta', 'requestState', 'inputResponses'])
  if (other !== undefined) return ambiguous(other)
  const { name, args = {}, meta, ...asks } = read
  const call = { method: TOOL_CALL, name, authInfo, sessionId, meta, written: Object(written).arguments }
  return { call, args, fault: fault ?? faultOf(args), ...asks }
}

/** The message, rebuilt from what the gate has read, so that the server cannot read anything else. */
export function rebuilt(message: RequestMessage, { args, brought, paramsWith }: ReadCall): RequestMessage {
  return { ...message, params: paramsWith(structuredClone(args), brought) }
}

/** The params that give a request of the gate the same protocol and client as a call. */
export function envelopeOf(meta: Caller['meta']): { readonly _meta?: object } {
  const members = Object.entries(meta).filter(([name]) => ENVELOPE.has(name))
  return members.length === 0 ? {} : { _meta: Object.fromEntries(members) }
}

/** The client's capabilities, which each request of 2026-07-28 contains. Undefined for older protocols. */
export function capabilitiesIn(meta: Caller['meta']): unknown {
  return meta[PROTOCOL_VERSION] === undefined ? undefined : (meta[CLIENT_CAPABILITIES] ?? {})
}

/** A result of the gate itself. Since 2026-07-28 every result names its type. */
export function ownResult(result: ToolResult, meta: Caller['meta']): ToolResult {
  return meta[PROTOCOL_VERSION] === undefined ? result : { resultType: 'complete', ...result }
}

/** The refusal of arguments that another program could read differently from the mapping. */
export function faultOf(args: object): DeniedError | undefined {
  try {
    const other = ambiguousMemberWithin(args)
    if (other === undefined) return undefined
    const detail = `The names of two arguments differ only in case: ${JSON.stringify(other)} can be confused with the other one.`
    return new DeniedError('arguments_refused', { detail })
  } catch (cause) {
    return new DeniedError('arguments_refused', { cause })
  }
}

export function ambiguous(member: string): ProtocolError {
  return invalidParams(`the member ${JSON.stringify(member)} can be confused with another one`)
}

export function invalidParams(message: string): ProtocolError {
  return { code: INVALID_PARAMS, message: `Invalid params: ${message}` }
}
