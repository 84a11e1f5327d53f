/**
 * The gate's answers to messages that it does not take, such as one with a number that a double cannot hold: a tool would act on
 * another number than the client sent.
 */
import { DeniedError } from '@countersign/client'
import { DECISION_META, shownDenial } from '../calls/result.js'
import { type ExactNumber, unsafeNumberIn } from '../json/exact-number.js'
import { type AnsweredId, errorMessage, INTERNAL_ERROR, INVALID_REQUEST, type ResponseMessage } from './json-rpc.js'

/** In characters. */
const MAX_SHOWN = 40

/** The answer to a request or a notification. */
export function refusedBecause(why: string, id: AnsweredId, data?: unknown): ResponseMessage {
  return errorMessage(id, {
    code: INVALID_REQUEST,
    message: `Invalid Request: ${why}`,
    ...(data !== undefined && { data }),
  })
}

/** Replaces a response, because its request must not wait forever. */
export function failedBecause(why: string, id: AnsweredId): ResponseMessage {
  return errorMessage(id, { code: INTERNAL_ERROR, message: `Internal error: the client's answer was refused. ${why}` })
}

/** The answer to a request or a notification. @param isCall whether it calls a tool */
export function refusedFor(number: number | ExactNumber, id: AnsweredId, isCall: boolean): ResponseMessage {
  return refusedBecause(
    rangeFault(number),
    id,
    isCall ? { [DECISION_META]: shownDenial(callFaultOf(number)) } : undefined,
  )
}

/** The refusal of a tool call. */
export function callFaultOf(number: number | ExactNumber): DeniedError {
  const detail = `${rangeFault(number)} If the tool takes it as a string, send it as a string.`
  return new DeniedError('arguments_refused', { detail })
}

/** The refusal of arguments that were parsed elsewhere. There, a number that reads as 0 is no different from 0. */
export function numberFaultIn(args: unknown): DeniedError | undefined {
  const number = unsafeNumberIn(args)
  return number === undefined ? undefined : callFaultOf(number)
}

export function rangeFault(number: number | ExactNumber): string {
  const digits = String(number)
  const shown = digits.length > MAX_SHOWN ? `${digits.slice(0, MAX_SHOWN)}…` : digits
  return `The number ${shown} is out of range: integers end at ±${Number.MAX_SAFE_INTEGER}, and no number may read as infinity or as 0.`
}
