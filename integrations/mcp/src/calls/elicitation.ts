/**
 * Reviews that the user of the client answers. The gate sends each answer to the decision point with the key of the reviewer; an
 * answer has no other effect.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Admission,
  ApiError,
  type CountersignClient,
  DeniedError,
  type PausedAdmission,
} from '@countersign/client'
import { warnOperator } from '@countersign/client/kernel'
import { CLIENT_CAPABILITIES, STATELESS_REVISION } from '../messages/protocol.js'
import { ANSWERED_BY_USER, type ToolResult } from './result.js'

/** Params of `elicitation/create`: a question without a form, to accept or decline. */
export interface ElicitParams {
  readonly mode: 'form'
  readonly message: string
  readonly requestedSchema: { readonly type: 'object'; readonly properties: Record<string, never> }
}

/**
 * How the gate can ask the user of a client. On a connection of the 2025 era it is a function that sends `elicitation/create` and
 * returns the result. The function rejects if no result arrives or the signal aborts. In the 2026-07-28 era the result of the call
 * itself requires the input.
 */
export type Elicit = 'input_required' | ((params: ElicitParams, signal: AbortSignal | undefined) => Promise<unknown>)

type Answer = 'accept' | 'decline' | 'none'

/** The name of the review in `inputRequests` and `inputResponses`. */
const REVIEW_INPUT = 'countersign_review'
/** Users could overlook what they accept in a longer text. */
const MAX_MESSAGE = 4_000
/** An equal call may use up the review of this call, which then needs a new one. */
const MAX_ROUNDS = 3
const TAKEN: ReadonlySet<string> = new Set<DeniedError['reason']>(['already_claimed', 'settled'])
/** Characters that can end a line or change the direction of the text. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** The result that asks the client for the answer to a review. Undefined if the question is too long to ask. */
export function reviewInputOf(admission: PausedAdmission): ToolResult | undefined {
  const params = reviewParamsOf(admission)
  const inputRequests = { [REVIEW_INPUT]: { method: 'elicitation/create', params } }
  return params && { resultType: 'input_required', inputRequests }
}

/** The client's answer to `reviewInputOf`. */
export function reviewAnswerIn(inputResponses: unknown): unknown {
  return Object.hasOwn(Object(inputResponses), REVIEW_INPUT) ? Object(inputResponses)[REVIEW_INPUT] : undefined
}

/** Undefined if the question is too long to understand. A reviewer then answers elsewhere. */
function reviewParamsOf({ question, asked }: PausedAdmission): ElicitParams | undefined {
  const context = asked.context === null ? '' : ` With ${JSON.stringify(asked.context)}.`
  const message = `${question}${context} Accept to let it run once.`.replace(UNPRINTABLE, escaped)
  if (message.length > MAX_MESSAGE) return undefined
  return { mode: 'form', message, requestedSchema: { type: 'object', properties: {} } }
}

/**
 * Asks the user of the client about a call that awaits a review, sends the answer to the decision point, and continues with its
 * decision.
 *
 * @param admit asks for a new decision, or continues with the decision of that id
 * @throws what `admit` throws; DeniedError (`review_required`) if the user did not answer or the gate could not ask
 */
export async function admitElicited(
  admit: (goOnWith?: string) => Promise<Admission>,
  reviewer: CountersignClient,
  elicit: Exclude<Elicit, 'input_required'>,
  signal: AbortSignal | undefined,
): Promise<Admission> {
  for (let round = 1; ; round += 1) {
    const admission = await admit()
    if (admission.kind !== 'paused') return admission
    const params = reviewParamsOf(admission)
    if (params === undefined || round > MAX_ROUNDS) return admission.begin()
    const answer = await elicited(elicit, params, signal)
    try {
      return await admitAnswered(admit, reviewer, admission.decision.id, answer)
    } catch (error) {
      // An equal call has used up the review that this user answered. This call needs another review.
      const isTaken = DeniedError.isInstance(error) && TAKEN.has(error.reason)
      if (!isTaken || answerOf(answer) !== 'accept') throw error
    }
  }
}

/**
 * Sends the user's answer to the decision point and continues with its decision.
 *
 * @throws as `admitElicited`; DeniedError (`declined`) if the user declined, even if the decision was approved elsewhere
 */
export async function admitAnswered(
  admit: (goOnWith?: string) => Promise<Admission>,
  reviewer: CountersignClient,
  decision_id: string,
  answer: unknown,
): Promise<Admission> {
  const said = answerOf(answer)
  const isTold = said !== 'none' && (await tell(reviewer, decision_id, said))
  // A reviewer may have approved the decision elsewhere. That does not outweigh this answer.
  if (said === 'decline' && !isTold) throw new DeniedError('declined', { decision_id })
  const admission = await admit(decision_id)
  return admission.kind === 'paused' ? admission.begin() : admission
}

function answerOf(answer: unknown): Answer {
  const { action } = Object(answer)
  return action === 'accept' || action === 'decline' ? action : 'none'
}

async function elicited(
  elicit: Exclude<Elicit, 'input_required'>,
  params: ElicitParams,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  try {
    return await elicit(params, signal)
  } catch {
    // Time ran out, or the client cannot ask. The call awaits its review.
    return undefined
  } finally {
    signal?.throwIfAborted()
  }
}

/** Returns false if the decision point rejected the answer. A rejected answer permits nothing. */
async function tell({ decisions }: CountersignClient, id: string, answer: 'accept' | 'decline'): Promise<boolean> {
  try {
    const comment = ANSWERED_BY_USER
    await (answer === 'accept' ? decisions.approve(id, { comment }) : decisions.decline(id, { comment }))
    return true
  } catch (error) {
    if (ApiError.isInstance(error) && (error.status === 401 || error.status === 403))
      warnOperator(
        'COUNTERSIGN_REVIEWER_REFUSED',
        `The decision point did not accept an answer to a review (${error.code}): the key of the reviewer needs the scope reviews:write, and may not be the asking key or come from the same key.`,
        error.code,
      )
    return false
  }
}

function escaped(one: string): string {
  return `\\u{${one.codePointAt(0)?.toString(16)}}`
}

/** Set while the gate itself asks the user through the server. */
export const asksForGate = new AsyncLocalStorage<true>()

/** The members that the servers of both SDKs share. */
interface ElicitingServer {
  getNegotiatedProtocolVersion?(): string | undefined
  getClientCapabilities?(): unknown
  elicitInput?(params: ElicitParams, options: object): Promise<unknown>
}

/**
 * How the gate can ask the user at the client of a server during a request.
 *
 * @param told the context of the handler: `extra` of 1.x and `ctx` of 2.x
 */
export function elicitBy(given: object, told: unknown, timeoutMs: number): Elicit | undefined {
  const server = given as ElicitingServer
  const { mcpReq, requestId } = Object(told)
  if ((server.getNegotiatedProtocolVersion?.() ?? '') >= STATELESS_REVISION)
    return takesForms(Object(mcpReq?.envelope)[CLIENT_CAPABILITIES]) ? 'input_required' : undefined
  if (!takesForms(server.getClientCapabilities?.())) return undefined
  return async (params, signal) =>
    asksForGate.run(true, async () =>
      server.elicitInput?.(params, { relatedRequestId: mcpReq?.id ?? requestId, signal, timeout: timeoutMs }),
    )
}

/** Whether a client supports elicitation by forms, the mode of a capability that names no mode. */
export function takesForms(capabilities: unknown): boolean {
  const { elicitation } = Object(capabilities)
  if (typeof elicitation !== 'object' || elicitation === null) return false
  return elicitation.form !== undefined || elicitation.url === undefined
}
