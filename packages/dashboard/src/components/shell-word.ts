/** Quotes a text as one word for a POSIX shell. Between single quotes, only the quote itself is special. */
export function shellWord(text: string): string {
  return /^[\w./:-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
