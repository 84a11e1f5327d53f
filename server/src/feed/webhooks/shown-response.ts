/** The most characters of an answer that are shown. */
const SHOWN_CHARACTERS = 256

/**
 * Returns the beginning of an answer's body, safe to show: on one line, without a secret that the receiver echoes.
 *
 * @param hidden other texts to remove
 */
export function shownResponse(body: Buffer, hidden: readonly string[]): string {
  const text = new TextDecoder().decode(body).replace(/whsec_[\w+/=-]*/g, 'whsec_…')
  const without = hidden.reduce((rest, part) => rest.replaceAll(part, '…'), text)
  // Control characters, invisible characters that reorder others, lone surrogates, and line ends.
  const plain = without.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
  return [...plain].slice(0, SHOWN_CHARACTERS).join('')
}

/**
 * Returns the parts of a decision's request in an event's body, which may be erased later: as plain text, as JSON, and
 * as ASCII JSON.
 */
export function requestPartsOf(body: Buffer): string[] {
  const { resource, request_hash } = JSON.parse(body.toString()).data
  return [resource, request_hash].flatMap((part: unknown) => {
    if (typeof part !== 'string') return []
    const json = JSON.stringify(part).slice(1, -1)
    return [part, json, asciiOf(json)]
  })
}

function asciiOf(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
