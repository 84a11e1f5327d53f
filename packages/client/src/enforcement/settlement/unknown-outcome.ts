import { DeniedError } from '../../errors/denied-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import { signOf, signOfText } from './error-signs.js'

const MOST_ERRORS = 64

/**
 * - `unknown`: nobody knows whether the action was done;
 * - `refused`: surely nothing was sent, or the other side said no;
 * - `failed`: the action ended with an error of its own.
 */
type Ending = 'unknown' | 'refused' | 'failed'

/**
 * Whether an action that ended with this error may have done what it was to do all the same: its answer was lost. Looks at the
 * error and at the errors that it holds: its cause, those that it gathers, and any other. Where in doubt: true.
 *
 * False for what surely changed nothing, such as a connection that was refused or an answer 4xx, and for errors that have
 * nothing to do with a connection, a server or time. What is no Error counts as one only where it says such a thing: a text that
 * is not empty is read as a message, and of an object a code or a status that refuses.
 *
 * Source: docs/enforcement.md "How an action is settled".
 */
export function isOutcomeUnknown(error: unknown): boolean {
  try {
    // What some of them refused, the others may have done.
    if (Array.isArray(error)) return true
    const ending = endingOf(error, new Map())
    return ending === 'unknown' || (ending === 'failed' && !isReadable(error))
  } catch {
    // An error that cannot be looked at says nothing.
    return true
  }
}

/** Whether it can say that an action failed by saying nothing else. */
function isReadable(error: unknown): boolean {
  return (typeof error === 'string' && error !== '') || isError(error)
}

function endingOf(error: unknown, seen: Map<object, Ending>): Ending {
  if (typeof error === 'string') return signOfText(error) === 'none' ? 'failed' : 'unknown'
  if (typeof error !== 'object' || error === null) return 'failed'
  const before = seen.get(error)
  if (before !== undefined) return before
  if (seen.size >= MOST_ERRORS) return 'unknown'
  // What it stands for in a circle.
  seen.set(error, 'failed')
  const ending = endingOfObject(error, seen)
  seen.set(error, ending)
  return ending
}

function endingOfObject(error: object, seen: Map<object, Ending>): Ending {
  // What was denied has not begun, whatever kept it from being asked.
  if (DeniedError.isInstance(error)) return 'refused'
  if (UnavailableError.isInstance(error)) return 'unknown'

  const sign = signOf(error)
  if (sign === 'lost') return 'unknown'
  const endings = causesOf(error).map((cause) => endingOf(cause, seen))
  if (endings.includes('unknown')) return 'unknown'
  if (sign === 'refused' || endings.includes('refused')) return 'refused'
  return sign === 'transport' ? 'unknown' : 'failed'
}

/** Its cause, whatever it gathers in `errors`, and each other error that it holds, under whichever name a library has for it. */
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

/** Errors of other realms too. */
function isError(value: unknown): boolean {
  return value instanceof Error || typeof Object(value).stack === 'string'
}
