/** Reviews that the client's user answers. Only the decision point makes an answer count: the reviewer's key sends it there. */
import {
  type Admission,
  ApiError,
  type CountersignClient,
  DeniedError,
  type PausedAdmission,
} from '@countersign/client'
import { warnOperator } from '@countersign/client/kernel'
import { CLIENT_CAPABILITIES, STATELESS_REVISION } from './protocol.js'
import type { ToolResult } from './tool-result.js'

/** Of `elicitation/create`: a question without a form, to be accepted or declined. */
export interface ElicitParams {
  readonly mode: 'form'
  readonly message: string
  readonly requestedSchema: { readonly type: 'object'; readonly properties: Record<string, never> }
}

/**
 * How the user at a client can be asked. On a connection of the 2025 era, a function that sends `elicitation/create` and gives its
 * result: it rejects when there is none, and when the signal is aborted. In the 2026-07-28 era the result of the call itself says that
 * it requires input.
 */
export type Elicit = 'input_required' | ((params: ElicitParams, signal: AbortSignal | undefined) => Promise<unknown>)

type Answer = 'accept' | 'decline' | 'none'

/** Names the review among `inputRequests` and `inputResponses`. */
const REVIEW_INPUT = 'countersign_review'
/** In a longer text users could overlook what they accept. */
const MAX_MESSAGE = 4_000
/** An equal call may take the review of this call, which then needs a new one. */
const MAX_ROUNDS = 3
const TAKEN: ReadonlySet<string> = new Set<DeniedError['reason']>(['already_claimed', 'settled'])
/** What could end a line, or turn the direction of what follows. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** What is asked in the place of a result of the tool; undefined where the user is not asked. */
export function reviewInputOf(admission: PausedAdmission): ToolResult | undefined {
  const params = reviewParamsOf(admission)
  const inputRequests = { [REVIEW_INPUT]: { method: 'elicitation/create', params } }
  return params && { resultType: 'input_required', inputRequests }
}

/** What a client answered that was asked by `input_required`. */
export function reviewAnswerIn(inputResponses: unknown): unknown {
  return Object.hasOwn(Object(inputResponses), REVIEW_INPUT) ? Object(inputResponses)[REVIEW_INPUT] : undefined
}

/** Undefined for a question that is too long to understand. It waits for a reviewer elsewhere. */
function reviewParamsOf({ question, asked }: PausedAdmission): ElicitParams | undefined {
  const context = asked.context === null ? '' : ` With ${JSON.stringify(asked.context)}.`
  const message = `${question}${context} Accept to let it run once.`.replace(UNPRINTABLE, escaped)
  if (message.length > MAX_MESSAGE) return undefined
  return { mode: 'form', message, requestedSchema: { type: 'object', properties: {} } }
}

/**
 * Asks the user at the client about what awaits a review, tells the decision point the answer, and goes on with what it says then.
 *
 * @param admit asks anew, or goes on with the decision of that id
 * @throws what `admit` throws; DeniedError (`review_required`) where the user has not answered or could not be asked
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
      // An equal call has run by the review that this one was asked about, too: it needs one of its own.
      const isTaken = DeniedError.isInstance(error) && TAKEN.has(error.reason)
      if (!isTaken || answerOf(answer) !== 'accept') throw error
    }
  }
}

/**
 * Tells the decision point what the user has answered, and goes on with what it says then.
 *
 * @throws as `admitElicited`; DeniedError (`declined`) once the user has declined, whatever became of the decision
 */
export async function admitAnswered(
  admit: (goOnWith?: string) => Promise<Admission>,
  reviewer: CountersignClient,
  decision_id: string,
  answer: unknown,
): Promise<Admission> {
  const said = answerOf(answer)
  const isTold = said !== 'none' && (await tell(reviewer, decision_id, said))
  // It may have been approved elsewhere meanwhile: that does not outweigh this answer.
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
    // Time ran out, or the client cannot: it awaits its review.
    return undefined
  } finally {
    signal?.throwIfAborted()
  }
}

/** False when the decision point did not take it. What it does not take opens nothing. */
async function tell({ decisions }: CountersignClient, id: string, answer: 'accept' | 'decline'): Promise<boolean> {
  try {
    const comment = 'answered by the user of the MCP client'
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

/** As far as both SDKs have the same. */
interface ElicitingServer {
  getNegotiatedProtocolVersion?(): string | undefined
  getClientCapabilities?(): unknown
  elicitInput?(params: ElicitParams, options: object): Promise<unknown>
}

/**
 * How the user at the client of a server can be asked during a request.
 *
 * @param told what a handler is told beside its request: `extra` of 1.x and `ctx` of 2.x
 */
export function elicitBy(given: object, told: unknown, timeoutMs: number): Elicit | undefined {
  const server = given as ElicitingServer
  const { mcpReq, requestId } = Object(told)
  if ((server.getNegotiatedProtocolVersion?.() ?? '') >= STATELESS_REVISION)
    return takesForms(Object(mcpReq?.envelope)[CLIENT_CAPABILITIES]) ? 'input_required' : undefined
  if (!takesForms(server.getClientCapabilities?.())) return undefined
  return async (params, signal) =>
    server.elicitInput?.(params, { relatedRequestId: mcpReq?.id ?? requestId, signal, timeout: timeoutMs })
}

/** Of the capabilities of a client: elicitation that names no mode has forms. */
export function takesForms(capabilities: unknown): boolean {
  const { elicitation } = Object(capabilities)
  if (typeof elicitation !== 'object' || elicitation === null) return false
  return elicitation.form !== undefined || elicitation.url === undefined
}
