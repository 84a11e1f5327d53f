/** What is wrong with the text of a policy, each at its token. */
import type { PolicyValidation } from '@countersign/contract'
import { ApiError } from '../../api/client'
import type { TextProblem } from '../../components/json/json-editor'
import { rangeOfPointer } from '../../components/json/json-tree'
import { placeOf } from '../../components/json/read-text'
import { syntaxProblem } from '../../components/json/syntax-problem'

export interface PolicyProblem extends TextProblem {
  /** Where it is in the policy; null for a text that is no JSON. */
  readonly pointer: string | null
}

/** A text is the same for errors that an earlier form of it had: their pointers are looked up in the present one. */
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

/** What the answer to a refused call names; empty when it names no place. */
export function problemsOfError(text: string, error: unknown): PolicyProblem[] {
  const problem = error instanceof ApiError ? error.problem : null
  if (problem?.code === 'malformed_json') return [syntaxProblem(text, { ok: false, ...placeOf(text, problem.detail) })]
  if (problem?.code === 'policy_name_taken') return [errorAt(text, '/name', 'is the name of another policy')]
  return (problem?.errors ?? []).map(({ pointer, detail }) => errorAt(text, pointer, detail))
}

/** `must be …` is about a value; `is missing`, `is not a member` and such are about a key. */
function errorAt(text: string, pointer: string, detail: string): PolicyProblem {
  const about = detail.startsWith('must') ? 'value' : 'key'
  return { severity: 'error', pointer, message: detail, ...rangeOfPointer(text, pointer, about) }
}
