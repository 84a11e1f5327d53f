import type { Json } from '@countersign/contract'

/** In characters: of texts that an answer shows, and of the JSON of other values. */
const SHOWN_LENGTH = 1000

/** The first characters of a text, without half a surrogate pair at the end. */
export function firstCharacters(text: string, count: number): string {
  if (text.length <= count) return text
  const last = text.charCodeAt(count - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? count - 1 : count)
}

/** The text, or its first 1,000 characters and how many there are: `abc… (61440 characters)`. */
export function shortenText(text: string): string {
  return text.length <= SHOWN_LENGTH ? text : `${firstCharacters(text, SHOWN_LENGTH)}… (${text.length} characters)`
}

/** The value as it is; of a long text, and of an array or object with a long JSON, a text as {@link shortenText} makes it. */
export function shortenValue(value: Json): Json {
  if (typeof value === 'string') return shortenText(value)
  if (typeof value !== 'object' || value === null) return value
  const text = JSON.stringify(value)
  return text.length <= SHOWN_LENGTH ? value : shortenText(text)
}
