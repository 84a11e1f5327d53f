import type { TextProblem } from './json-editor'
import type { ReadText } from './read-text'

/** The first fault of a text that the server could not read. */
export function syntaxProblem(
  text: string,
  { offset, what }: Extract<ReadText, { ok: false }>,
): TextProblem & { readonly pointer: null } {
  // A fault at the end of the text is underlined at what comes before it.
  const from = Math.min(offset, Math.max(0, text.trimEnd().length - 1))
  return { severity: 'error', pointer: null, from, to: Math.min(from + 1, text.length), message: sentence(what) }
}

function sentence(what: string): string {
  return what.charAt(0).toUpperCase() + what.slice(1)
}
