/** What the span of an enforcement point says about a refusal. */
import type { DeniedReason } from '../errors/refusal-reason.js'
import { codeOf, type DecisionSpan, fail } from './decision-span.js'

/** Reasons of a refusal without a decision. */
const UNOBTAINED: ReadonlySet<DeniedReason> = new Set([
  'unavailable',
  'refused',
  'mapping_failed',
  'question_refused',
  'unmapped',
  'arguments_refused',
])

/** The action does not run, or in the mode `observe` would not. */
export function noteRefusal(span: DecisionSpan, reason: DeniedReason, cause: unknown): void {
  span.note((open) => {
    open.setAttribute('countersign.refusal.reason', reason)
    if (UNOBTAINED.has(reason)) fail(open, codeOf(cause) ?? reason)
  })
}
