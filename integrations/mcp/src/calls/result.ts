/** Results of `tools/call`. The gate changes only their `_meta` and adds the words of the approver. */
import { type ActionOutcome, type Admission, type DeniedError, refusalForModel } from '@countersign/client'
import { reviewerWords } from '@countersign/client/text'

/** The members that a gate reads. */
export interface ToolResult {
  readonly [member: string]: unknown
  readonly content?: unknown
  readonly isError?: unknown
  readonly _meta?: unknown
}

/** `_meta["countersign/decision"]` of a result. It contains neither permit nor policy. */
export interface ShownDecisionOfCall {
  /** Null if the decision point gave no answer. */
  readonly id: string | null
  /** `deny` for every refusal other than a pending review, whatever the cause. */
  readonly effect: string
  /** Set for refusals. */
  readonly reason?: DeniedError['reason']
}

/** The comment of an answer that the user of the client gave. It is not a text of a reviewer. */
export const ANSWERED_BY_USER = 'answered by the user of the MCP client'

export const DECISION_META = 'countersign/decision'

/**
 * Adds the decision to the tool's result, and the approver's comment as one more text. A decision that the server itself claims is
 * replaced or removed.
 */
export function withDecision(result: ToolResult, admission: Pick<Admission, 'decision'>): ToolResult {
  const { decision } = admission
  if (decision !== null)
    return noting(withWords(result, approverWords(admission)), { id: decision.id, effect: decision.effect })
  if (!Object.hasOwn(Object(result._meta), DECISION_META)) return result
  const { [DECISION_META]: _claimed, ...meta } = result._meta as Record<string, unknown>
  return { ...result, _meta: meta }
}

/**
 * A refusal as a tool result with `isError`. Models read it, and clients accept it from a tool with an `outputSchema`. A pending
 * review has the same form: the client can repeat the call after the approval.
 */
export function denialResult(denied: DeniedError): ToolResult {
  const content = [{ type: 'text', text: refusalForModel(denied) }]
  return noting({ content, isError: true }, shownDenial(denied))
}

export function shownDenial({ reason, decision_id }: DeniedError): ShownDecisionOfCall {
  return { id: decision_id, effect: reason === 'review_required' ? 'review' : 'deny', reason }
}

/** The approver's comment, worded for the model. Null if there is none. */
export function approverWords({ decision }: Pick<Admission, 'decision'>): string | null {
  const comment = decision?.review?.comment
  return comment === ANSWERED_BY_USER ? null : reviewerWords(comment)
}

/** Adds the words as the last text. */
export function withWords(result: ToolResult, words: string | null): ToolResult {
  if (words === null || !Array.isArray(result.content)) return result
  return { ...result, content: [...result.content, { type: 'text', text: words }] }
}

/** Errors that tools threw, by the results that report them as text. */
const thrown = new WeakMap<ToolResult, unknown>()

/** Notes that the result reports this error. */
export function thrownBy(error: unknown, result: ToolResult): ToolResult {
  thrown.set(result, error)
  return result
}

/** Whether the tool asks its client for input before it ends (2026-07-28). */
export function requiresInput({ resultType }: ToolResult): boolean {
  return resultType === 'input_required'
}

/**
 * The outcome that a result reports; undefined for success. A result of an unknown type may not be final, so its outcome is unknown.
 */
export function outcomeOfResult(result: ToolResult): ActionOutcome | undefined {
  const { resultType = 'complete' } = result
  if (resultType !== 'complete') return { kind: 'unknown' }
  if (result.isError !== true) return undefined
  return { kind: 'failed', error: thrown.has(result) ? thrown.get(result) : textOf(result) }
}

function noting(result: ToolResult, shown: ShownDecisionOfCall): ToolResult {
  return { ...result, _meta: { ...Object(result._meta ?? {}), [DECISION_META]: shown } }
}

/** All texts of a result. */
export function textOf({ content }: ToolResult): string {
  const parts: readonly unknown[] = Array.isArray(content) ? content : []
  const texts = parts.map((part) => Object(part).text).filter((text) => typeof text === 'string')
  return texts.join('\n')
}
