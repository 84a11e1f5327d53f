import { DeniedError } from '../../errors/denied-error.js'
import { UnavailableError } from '../../errors/unavailable-error.js'
import { signOf, signOfText } from './error-signs.js'

const MOST_ERRORS = 64
/** Where libraries keep the error that was first. */
const CAUSES = [
  'detail',
  'driverError',
  'error',
  'inner',
  'innerError',
  'lastError',
  'lastNodeError',
  'original',
  'originalError',
  'parent',
  'previous',
  'reason',
  'suppressed',
]

/**
 * - `unknown`: nobody knows whether the action was done;
 * - `refused`: surely nothing was sent, or the other side said no;
 * - `failed`: the action ended with an error of its own.
 */
type Ending = 'unknown' | 'refused' | 'failed'

/**
 * Whether an action that ended with this error may have done what it was to do all the same: its answer was lost. Looks at the
 * error, at its causes, and at the errors that it gathers. Where in doubt: true.
 *
 * False for what surely changed nothing, such as a connection that was refused or an answer 4xx, and for errors that have
 * nothing to do with a connection, a server or time.
 *
 * Source: docs/enforcement.md "How an action is settled".
 */
export function isOutcomeUnknown(error: unknown): boolean {
  try {
    return endingOf(error, new Map()) === 'unknown'
  } catch {
    // An error that cannot be looked at says nothing.
    return true
  }
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

function causesOf(error: object): readonly unknown[] {
  const at = error as Readonly<Record<string, unknown>>
  const { cause, errors } = at
  const others = CAUSES.map((name) => at[name]).filter((one) => typeof Object(one).stack === 'string')
  return [cause, ...(Array.isArray(errors) ? errors.slice(0, MOST_ERRORS + 1) : []), ...others]
}
