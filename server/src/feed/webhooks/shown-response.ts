/** What is shown of an answer, at most. */
const SHOWN_CHARACTERS = 256

/** The beginning of an answer's body, fit to be shown: on one line, and without a secret that the receiver sends back. */
export function shownResponse(body: Buffer): string {
  const text = new TextDecoder().decode(body).replace(/whsec_[\w+/=-]*/g, 'whsec_…')
  // Control characters, invisible ones that change the order of others, halves of characters, ends of lines.
  const plain = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
  return [...plain].slice(0, SHOWN_CHARACTERS).join('')
}
