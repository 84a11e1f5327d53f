/** Reads requests and notifications other than `tools/call`: which call each one is, its arguments, and what is forwarded. */
import { DeniedError } from '@countersign/client'
import { ambiguousMember, isObject, MAX_BATCH, type ProtocolError, type RequestMessage } from '../messages/json-rpc.js'
import { LISTEN, TASK_REQUESTS } from '../rules/methods.js'
import { faultOfCharacters, faultOfUri, faultOfUriTemplate } from '../rules/resource-uri.js'
import type { GatedCall } from './call.js'
import { ambiguous, type CallParams, type ClientContext, faultOf, invalidParams, type ReadCall } from './tool-params.js'

interface Asked extends Pick<GatedCall, 'name' | 'ref'>, Pick<ReadCall, 'args'> {
  /** Why the call is refused: a server could read it differently. */
  readonly why?: string | undefined
}

/** In UTF-16 code units. */
const MAX_METHOD = 1_024

/** Returns the call that a request or notification makes, or what is wrong with its params. Not for `tools/call`. */
export function readOther(
  { method, params = {} }: Pick<RequestMessage, 'method' | 'params'>,
  { authInfo, sessionId, written: given }: ClientContext,
): ReadCall | ProtocolError {
  if (!isObject(params)) return invalidParams('params must be an object')
  const { requestState, inputResponses, _meta: meta, task, ...rest } = params
  if (meta !== undefined && !isObject(meta)) return invalidParams('_meta must be an object')
  const other = ambiguousMember(params, [
    '_meta',
    'task',
    'uri',
    'name',
    'arguments',
    'ref',
    'requestState',
    'inputResponses',
  ])
  if (other !== undefined) return ambiguous(other)
  const asked = readers.get(method)?.(rest) ?? ofMethod(method, rest)
  if ('code' in asked) return asked
  const { name, ref, args, why } = asked
  const isPrompt = method === 'prompts/get'
  const paramsWith: CallParams['paramsWith'] = (decided, forServer) => ({
    ...(isPrompt ? { name, ...(rest.arguments !== undefined && { arguments: decided }) } : (decided as object)),
    ...(meta !== undefined && { _meta: meta }),
    ...(task !== undefined && { task }),
    ...forServer,
  })
  const fault = why === undefined ? faultOf(args) : refused(method, why)
  const written = isPrompt ? Object(given).arguments : given
  const call = { method, name, ref, authInfo, sessionId, meta: meta ?? {}, written }
  return { call, args, fault, wantsTask: isObject(task), brought: { requestState, inputResponses }, paramsWith }
}

/**
 * One call for each URI that `subscriptions/listen` subscribes to. Undefined if that is not a list of URIs, or the list is too long.
 */
export function subscriptionsIn({ call, args }: ReadCall, context: ClientContext): readonly ReadCall[] | undefined {
  const uris = Object(args.notifications).resourceSubscriptions ?? []
  const isList = Array.isArray(uris) && uris.length <= MAX_BATCH && uris.every((uri) => typeof uri === 'string')
  if (!isList) return undefined
  return uris.map((uri): ReadCall => {
    const one = readOther({ method: 'resources/subscribe', params: { uri } }, context) as ReadCall
    return { ...one, call: { ...one.call, meta: call.meta } }
  })
}

const readers: ReadonlyMap<string, (params: Readonly<Record<string, unknown>>) => Asked | ProtocolError> = new Map([
  ['resources/read', ofResource],
  ['resources/subscribe', ofResource],
  ['prompts/get', ofPrompt],
  ['completion/complete', ofCompletion],
  [LISTEN, ofListen],
  ...[...TASK_REQUESTS].map((method) => [method, ofTask(method)] as const),
])

function ofResource(params: Readonly<Record<string, unknown>>): Asked | ProtocolError {
  const { uri } = params
  if (typeof uri !== 'string') return invalidParams('uri must be a string')
  return { name: uri, args: params, why: why('uri', faultOfUri(uri)) }
}

function ofPrompt({ name, arguments: args = {}, ...others }: Readonly<Record<string, unknown>>): Asked | ProtocolError {
  if (typeof name !== 'string') return invalidParams('name must be a string')
  if (!isObject(args)) return invalidParams('arguments must be an object')
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return invalidParams(`the member ${JSON.stringify(unknown)} is not known`)
  return { name, args, why: why('name', faultOfName(name)) }
}

function ofCompletion(params: Readonly<Record<string, unknown>>): Asked | ProtocolError {
  const { type, name, uri } = isObject(params.ref) ? params.ref : {}
  const isPrompt = type === 'ref/prompt' && typeof name === 'string' && uri === undefined
  const isResource = type === 'ref/resource' && typeof uri === 'string' && name === undefined
  if (isPrompt) return { name, ref: type, args: params, why: why('ref.name', faultOfName(name)) }
  if (isResource) return { name: uri, ref: type, args: params, why: why('ref.uri', faultOfUriTemplate(uri)) }
  return invalidParams('ref must be a prompt with a name, or a resource with a uri')
}

/** A server that read another member as one of these would subscribe to URIs without a decision. */
function ofListen(params: Readonly<Record<string, unknown>>): Asked | ProtocolError {
  const { notifications = {} } = params
  if (!isObject(notifications)) return invalidParams('notifications must be an object')
  const other = ambiguousMember(params, ['notifications']) ?? ambiguousMember(notifications, ['resourceSubscriptions'])
  return other === undefined ? ofMethod(LISTEN, params) : ambiguous(other)
}

/** A server that read another member as the id would act on the task of another client. */
function ofTask(method: string) {
  return (params: Readonly<Record<string, unknown>>): Asked | ProtocolError => {
    const other = ambiguousMember(params, ['taskId'])
    return other === undefined ? ofMethod(method, params) : ambiguous(other)
  }
}

function ofMethod(method: string, args: Readonly<Record<string, unknown>>): Asked {
  const fault = method.length > MAX_METHOD ? `has more than ${MAX_METHOD} characters` : faultOfName(method)
  return { name: method, args, why: why('method', fault) }
}

/** Some servers strip spaces around a name. */
function faultOfName(name: string): string | undefined {
  return faultOfCharacters(name) ?? (name.trim() === name ? undefined : 'begins or ends with a space')
}

function why(member: string, fault: string | undefined): string | undefined {
  return fault && `The ${member} of this call ${fault}.`
}

function refused(method: string, detail: string): DeniedError {
  return new DeniedError('question_refused', { detail, cause: new TypeError(`${method.slice(0, 100)}: ${detail}`) })
}
