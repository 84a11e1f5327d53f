/** The place of a request in a distributed trace, as the header `traceparent` of W3C Trace Context names it. */
export interface Traceparent {
  /** 32 lowercase hexadecimal digits, not all zero. */
  readonly traceId: string
  /** The span that sent the request: 16 lowercase hexadecimal digits, not all zero. */
  readonly parentId: string
  /** Whether the caller may have recorded the span. */
  readonly sampled: boolean
}

/** A later version may have more after another dash. A comma joins repeated headers, which are invalid. */
const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[^,]*)?$/

/** Version 00 ends after its flags. */
const KNOWN_VERSION = '00'
const INVALID_VERSION = 'ff'
const NOTHING = /^0+$/
const SAMPLED = 1

/**
 * Reads a `traceparent`; of a later version, the part that version 00 has.
 *
 * @returns null for a header that is invalid or was sent more than once: ignore it, as if it was not sent
 *
 * Source: W3C Trace Context, section 3.2
 */
export function parseTraceparent(text: string): Traceparent | null {
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(text) ?? []
  if (version === undefined || version === INVALID_VERSION || NOTHING.test(traceId) || NOTHING.test(parentId))
    return null
  if (version === KNOWN_VERSION && more !== undefined) return null
  return { traceId, parentId, sampled: (Number.parseInt(flags, 16) & SAMPLED) === SAMPLED }
}
