/** What is shown of an answer, at most. */
const SHOWN_CHARACTERS = 256

/**
 * The beginning of an answer's body, fit to be shown: on one line, and without a secret that the receiver sends back.
 *
 * @param hidden other texts that must not stay here
 */
export function shownResponse(body: Buffer, hidden: readonly string[]): string {
  const text = new TextDecoder().decode(body).replace(/whsec_[\w+/=-]*/g, 'whsec_…')
  const without = hidden.reduce((rest, part) => rest.replaceAll(part, '…'), text)
  // Control characters, invisible ones that change the order of others, halves of characters, ends of lines.
  const plain = without.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
  return [...plain].slice(0, SHOWN_CHARACTERS).join('')
}

/**
 * What the body of an event has of a decision's request, which may be erased later: as it is, as JSON, and as JSON in ASCII.
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
