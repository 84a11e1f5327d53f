import { DeniedError } from '../../errors/denied-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import { signOf, signOfText } from './error-signs.js'

const MOST_ERRORS = 64

/**
 * - `unknown`: the action may have been done;
 * - `refused`: surely nothing was sent, or the other side said no;
 * - `failed`: the action ended with another error.
 */
type Ending = 'unknown' | 'refused' | 'failed'

/**
 * Whether an action that ended with this error may have been done in spite of it, because its answer was lost. Looks at the
 * error and at all errors that it holds, such as its cause. If in doubt: true.
 *
 * False if surely nothing changed, such as after a refused connection or an answer 4xx, and for errors that have nothing to
 * do with a connection, a server or time. Values other than errors are read, too: a text as a message (an empty text says
 * nothing), and the code or status of an object if it refuses.
 *
 * Source: docs/settlement.md "How an action is settled".
 */
export function isOutcomeUnknown(error: unknown): boolean {
  try {
    // One of them may have acted even if the others refused.
    if (Array.isArray(error)) return true
    const ending = endingOf(error, new Map())
    return ending === 'unknown' || (ending === 'failed' && !isReadable(error))
  } catch {
    // An error that cannot be read says nothing.
    return true
  }
}

/** Whether a value without any sign means that the action failed. */
function isReadable(error: unknown): boolean {
  return (typeof error === 'string' && error !== '') || isError(error)
}

function endingOf(error: unknown, seen: Map<object, Ending>): Ending {
  if (typeof error === 'string') return signOfText(error) === 'none' ? 'failed' : 'unknown'
  if (typeof error !== 'object' || error === null) return 'failed'
  const before = seen.get(error)
  if (before !== undefined) return before
  if (seen.size >= MOST_ERRORS) return 'unknown'
  // For circles.
  seen.set(error, 'failed')
  const ending = endingOfObject(error, seen)
  seen.set(error, ending)
  return ending
}

function endingOfObject(error: object, seen: Map<object, Ending>): Ending {
  // A denied action has not begun.
  if (DeniedError.isInstance(error)) return 'refused'
  if (UnavailableError.isInstance(error)) return 'unknown'

  const sign = signOf(error)
  if (sign === 'lost') return 'unknown'
  const endings = causesOf(error).map((cause) => endingOf(cause, seen))
  if (endings.includes('unknown')) return 'unknown'
  if (sign === 'refused' || endings.includes('refused')) return 'refused'
  return sign === 'transport' ? 'unknown' : 'failed'
}

/** Its cause, everything in `errors`, and each other error that it holds, by any name. */
function causesOf(error: object): readonly unknown[] {
  const at = error as Readonly<Record<string, unknown>>
  const held = Object.getOwnPropertyNames(error).flatMap((name) => [at[name], ...partsOf(at[name])])
  return [...new Set([at.cause, ...partsOf(at.errors), ...held.filter(isError)])]
}

function partsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  if (value instanceof Map || value instanceof Set) return [...value.values()]
  return isPlain(value) ? Object.values(value) : []
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype
}

/** Also for errors of other realms. */
function isError(value: unknown): boolean {
  return value instanceof Error || typeof Object(value).stack === 'string'
}
