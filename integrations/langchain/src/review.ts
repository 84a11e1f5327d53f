/** What awaits a review, as an interrupt of LangGraph. */
import type { Admission, CountersignClient } from '@countersign/client'
import { warnOperator } from '@countersign/client/kernel'
import type { GuardedToolCall } from './guarded-tool-call.js'

/** What the app is given with an interrupt. It resumes the graph once the review is answered at the decision point. */
export interface ReviewRequest {
  readonly type: 'countersign.review'
  readonly decision_id: string
  /** One sentence: which agent wants to do which action on which resource. */
  readonly question: string
  readonly agent_id: string
  readonly action: string
  readonly resource: string | null
  readonly context: Readonly<Record<string, unknown>> | null
  readonly tool: string
  readonly tool_call_id: string | null
  /** When the review ends, in RFC 3339. */
  readonly expires_at: string
}

/**
 * Interrupts for a decision that a person has to answer, or has answered. What LangGraph gives back when it is resumed is used
 * up here in each pass, so that a tool which interrupts itself is never given an answer that was meant for the review; it
 * permits nothing.
 *
 * @returns whether nobody has answered yet, and the review is withdrawn: nobody can come back to it any more
 * @throws what LangGraph interrupts by; the admission is paused then
 */
export async function interruptForReview(
  client: CountersignClient,
  admission: Admission,
  call: GuardedToolCall,
  interrupt: ((value: unknown) => unknown) | undefined,
): Promise<boolean> {
  const { asked, decision } = admission
  if (admission.kind === 'observed' || asked === null || !decision?.review) return false
  const request: ReviewRequest = {
    type: 'countersign.review',
    decision_id: decision.id,
    question: admission.kind === 'paused' ? admission.question : 'The review is answered: resume the graph.',
    ...asked,
    tool: call.name,
    tool_call_id: call.id ?? null,
    expires_at: decision.expires_at,
  }
  try {
    if (interrupt === undefined) throw new Error('the tool is not called by a graph')
    interrupt(request)
  } catch (error) {
    if (isGraphBubbleUp(error)) {
      admission.pause()
      throw error
    }
    const why = Object(error).message
    warnOperator(
      'COUNTERSIGN_NO_CHECKPOINTER',
      `A tool call that awaits a review is denied, because the graph cannot be interrupted (${why}). Give the agent or graph a checkpointer and each invocation a thread_id, or set review to 'deny' or 'wait'.`,
    )
    return false
  }
  return admission.kind === 'paused' && withdraw(client, decision.id)
}

async function withdraw(client: CountersignClient, id: string): Promise<boolean> {
  try {
    await client.decisions.reject(id, { reason: 'the call went on without an answer' })
    return true
  } catch {
    return false
  }
}

/** What LangGraph steers by, such as an interrupt: for it alone. */
export function isGraphBubbleUp(error: unknown): boolean {
  return Object(error).is_bubble_up === true
}
