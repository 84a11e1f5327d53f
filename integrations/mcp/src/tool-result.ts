/** Results of `tools/call`. The gate reads them, and changes nothing but `_meta`. */
import { type ActionOutcome, type Admission, type DeniedError, refusalForModel } from '@countersign/client'

/** As far as a gate looks at it. */
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
  /** Of a refusal. */
  readonly reason?: DeniedError['reason']
}

export const DECISION_META = 'countersign/decision'

/** The result of the tool with its decision. A decision that the server itself claims is replaced or removed. */
export function withDecision(result: ToolResult, { decision }: Pick<Admission, 'decision'>): ToolResult {
  if (decision !== null) return noting(result, { id: decision.id, effect: decision.effect })
  if (!Object.hasOwn(Object(result._meta), DECISION_META)) return result
  const { [DECISION_META]: _claimed, ...meta } = result._meta as Record<string, unknown>
  return { ...result, _meta: meta }
}

/**
 * A refusal as a tool result with `isError`, so that models read it, and clients accept it from a tool with an `outputSchema`. A pending
 * review has the same form: the client can repeat the call after the approval.
 */
export function denialResult(denied: DeniedError): ToolResult {
  const { content, isError } = { content: [{ type: 'text', text: refusalForModel(denied) }], isError: true }
  return noting({ content, isError }, shownDenial(denied))
}

export function shownDenial({ reason, decision_id }: DeniedError): ShownDecisionOfCall {
  return { id: decision_id, effect: reason === 'review_required' ? 'review' : 'deny', reason }
}

/** The errors that tools threw, by the results that report them as text. */
const thrown = new WeakMap<ToolResult, unknown>()

/** The result, known to tell of this error where it is one. */
export function thrownBy(error: unknown, result: ToolResult): ToolResult {
  thrown.set(result, error)
  return result
}

/** The tool has not ended: it asks its client first (2026-07-28). */
export function requiresInput({ resultType }: ToolResult): boolean {
  return resultType === 'input_required'
}

/** The outcome that a result reports; undefined for success. A result of an unknown type may not be final, so its outcome is unknown. */
export function outcomeOfResult(result: ToolResult): ActionOutcome | undefined {
  const { resultType = 'complete' } = result
  if (resultType !== 'complete') return { kind: 'unknown' }
  if (result.isError !== true) return undefined
  return { kind: 'failed', error: thrown.has(result) ? thrown.get(result) : textOf(result) }
}

function noting(result: ToolResult, shown: ShownDecisionOfCall): ToolResult {
  return { ...result, _meta: { ...Object(result._meta ?? {}), [DECISION_META]: shown } }
}

/** All that a result says in words. */
export function textOf({ content }: ToolResult): string {
  const parts: readonly unknown[] = Array.isArray(content) ? content : []
  const texts = parts.map((part) => Object(part).text).filter((text) => typeof text === 'string')
  return texts.join('\n')
}
