/** Makes calls from operations: the contract gives the endpoint of each, and the types of its body and answer. */
import type { AnswerOf, Named, OperationName, SentBodyOf } from '@countersign/contract/operations'
import { type Call, pathOf } from './call.js'
import type { Endpoint } from './endpoints.js'
import type { IdempotentCallOptions } from './options.js'
import type { Requester } from './requester.js'
import type { Decision } from './wire.js'

/** The inputs of a call. It has a body where its operation takes one. */
export type Given<Name extends OperationName> = Named<Name> &
  Pick<Call, 'headers' | 'extraTimeMs' | 'lateMs'> & {
    /** An operation that takes an idempotency key gets a random one when none is given. */
    readonly options: IdempotentCallOptions | undefined
  } & (SentBodyOf<Name> extends undefined ? object : { readonly body: SentBodyOf<Name> })

/** @throws TypeError for an id that would name another endpoint */
export function callOf<Name extends OperationName>(endpoint: Endpoint<Name>, given: Given<Name>): Call {
  const { method, path, takesKey } = endpoint
  const { params, body, options, ...others }: Given<OperationName> & Pick<Call, 'body'> & { readonly params?: object } =
    given
  return {
    ...others,
    method,
    path: pathOf(path, { ...params }),
    body: body === undefined && method === 'POST' ? {} : body,
    idempotencyKey: takesKey === true ? (options?.idempotencyKey ?? true) : undefined,
    options,
  }
}

/** A decision has the type unknown until `readDecision` has checked it. */
type Answered<Name extends OperationName> = AnswerOf<Name> extends Decision ? unknown : AnswerOf<Name>

/** Returns the unchecked answer. @throws what `Requester.send` and `callOf` throw */
export async function answerOf<Name extends OperationName>(
  requester: Requester,
  endpoint: Endpoint<Name>,
  given: Given<Name>,
): Promise<Answered<Name>> {
  return (await requester.send(callOf(endpoint, given))) as Answered<Name>
}
