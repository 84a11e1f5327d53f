import type { TextProblem } from './json-editor'
import type { ReadText } from './read-text'

/** Returns the first syntax error of a text. */
export function syntaxProblem(
  text: string,
  { offset, what }: Extract<ReadText, { ok: false }>,
): TextProblem & { readonly pointer: null } {
  // An error at the end of the text underlines the last character.
  const from = Math.min(offset, Math.max(0, text.trimEnd().length - 1))
  return { severity: 'error', pointer: null, from, to: Math.min(from + 1, text.length), message: sentence(what) }
}

function sentence(what: string): string {
  return what.charAt(0).toUpperCase() + what.slice(1)
}
