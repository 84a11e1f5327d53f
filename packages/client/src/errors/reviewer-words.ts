/** Presents a reviewer's comment to a model or a caller. It is foreign text that could imitate the text around it. */
import { printable } from './printable.js'

/** The maximum length of a comment, in characters. */
const MAX_COMMENT = 512

/**
 * Writes the comment of a reviewer as a sentence, on one line: attributed to the reviewer, and in quotation marks that
 * it cannot close. Null for an empty comment.
 *
 * Source: docs/enforcement.md "What the reviewer wrote".
 */
export function reviewerWords(comment: string | null | undefined): string | null {
  if (typeof comment !== 'string' || comment.trim() === '') return null
  const shown = printable(comment, MAX_COMMENT).replaceAll('"', "'")
  // Cuts again, because escaping unprintable characters makes the text longer.
  const cut = shown.length > MAX_COMMENT + 1 ? `${shown.slice(0, MAX_COMMENT)}…` : shown
  return `The reviewer wrote: "${cut}"`
}

/**
 * Appends the words to the result of a tool: a text, the parts of a content, an error, or any other value, which
 * becomes a text.
 */
export function plainWithWords(value: unknown, words: string): unknown {
  if (value instanceof Error) return errorWithWords(value, words)
  if (isContent(value)) return [...value, { type: 'text', text: words }]
  return `${textOf(value)}\n\n${words}`
}

/** Never throws: the tool has run, whatever it returned. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return typeof value === 'bigint' ? String(value) : Object.prototype.toString.call(value)
  }
}

function isContent(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.length > 0 && value.every((part) => typeof Object(part).type === 'string')
}

/**
 * Returns a copy of the error with the words after its message and after its text: with the same class and members, and
 * with the thrown error as its cause. Its methods and accessors act on the thrown error, so that they find private
 * members. The thrown error itself is unchanged, because a tool may throw the same error twice.
 */
export function errorWithWords(error: Error, words: string): Error {
  const text = (said: unknown): PropertyDescriptor => ({
    value: `${said}\n\n${words}`,
    configurable: true,
    writable: true,
  })
  return Object.create(Object.getPrototypeOf(error), {
    ...boundTo(error, Object.getPrototypeOf(error)),
    cause: { value: error, configurable: true, writable: true },
    ...Object.getOwnPropertyDescriptors(error),
    stack: { value: error.stack, configurable: true, writable: true },
    message: text(error.message),
    ...(error.toString !== Error.prototype.toString && { toString: { ...text(''), value: () => text(error).value } }),
  })
}

/** Returns the methods and accessors of an error class, bound to another object than their own. */
function boundTo(error: Error, prototype: object | null): PropertyDescriptorMap {
  if (prototype === null || prototype === Error.prototype || prototype === Object.prototype) return {}
  const bound = boundTo(error, Object.getPrototypeOf(prototype))
  for (const [name, member] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
    const { get, set, value } = member
    if (get || set)
      bound[name] = { configurable: true, ...(get && { get: get.bind(error) }), ...(set && { set: set.bind(error) }) }
    else if (typeof value === 'function' && name !== 'constructor')
      bound[name] = { ...member, value: value.bind(error) }
  }
  return bound
}
