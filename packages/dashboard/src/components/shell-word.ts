/** One word for a POSIX shell. Between single quotes a shell takes every character for itself, but for the quote. */
export function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
