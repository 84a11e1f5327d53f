/** The errors and warnings of a policy, each with its place in the text. */
import type { PolicyValidation } from '@countersign/contract'
import { ApiError } from '../../api/client'
import type { TextProblem } from '../../components/json/json-editor'
import { rangeOfPointer } from '../../components/json/json-tree'
import { placeOf } from '../../components/json/read-text'
import { syntaxProblem } from '../../components/json/syntax-problem'

export interface PolicyProblem extends TextProblem {
  /** The place in the policy; null for a syntax error. */
  readonly pointer: string | null
}

/** Places the result of a check in the text. The result may be of an earlier text, so each pointer is looked up in this one. */
export function problemsOf(text: string, { errors, warnings }: PolicyValidation): PolicyProblem[] {
  return [
    ...errors.map(({ pointer, detail }) => errorAt(text, pointer, detail)),
    ...warnings.map(({ pointer, message }) => ({
      severity: 'warning' as const,
      pointer,
      message,
      ...rangeOfPointer(text, pointer, 'value'),
    })),
  ]
}

/** Returns the problems that a refused call names; empty when it names none. */
export function problemsOfError(text: string, error: unknown): PolicyProblem[] {
  const problem = error instanceof ApiError ? error.problem : null
  if (problem?.code === 'malformed_json') return [syntaxProblem(text, { ok: false, ...placeOf(text, problem.detail) })]
  if (problem?.code === 'policy_name_taken') return [errorAt(text, '/name', 'is the name of another policy')]
  return (problem?.errors ?? []).map(({ pointer, detail }) => errorAt(text, pointer, detail))
}

/** A detail such as `must be …` is about the value; `is missing` and others are about the key. */
function errorAt(text: string, pointer: string, detail: string): PolicyProblem {
  const about = detail.startsWith('must') ? 'value' : 'key'
  return { severity: 'error', pointer, message: detail, ...rangeOfPointer(text, pointer, about) }
}
