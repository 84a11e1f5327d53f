import type { Json } from '@countersign/contract'

/** In characters: for texts that an answer shows, and for the JSON of other values. */
const SHOWN_LENGTH = 1000

/** Returns the first characters of a text, without half a surrogate pair at the end. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text
  const last = text.charCodeAt(count - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? count - 1 : count)
}

/** Returns the text, or its first 1,000 characters with its length: `abc… (61440 characters)`. */
export function shortenText(text: string): string {
  return text.length <= SHOWN_LENGTH ? text : `${firstCharacters(text, SHOWN_LENGTH)}… (${text.length} characters)`
}

/**
 * Returns the value unchanged, but shortens a long text, and an array or object with long JSON, as {@link shortenText}
 * does.
 */
export function shortenValue(value: Json): Json {
  if (typeof value === 'string') return shortenText(value)
  if (typeof value !== 'object' || value === null) return value
  const text = JSON.stringify(value)
  return text.length <= SHOWN_LENGTH ? value : shortenText(text)
}
