import { ApiError, type DeniedError, UnavailableError } from '@countersign/client'
import { inSpiteOf, sabotagesBy, withOptions } from './breaking.js'

type Ignoring = (denied: DeniedError) => boolean

/** One fault of a decision point that the guard takes for a yes. */
function taking(what: string, isIgnored: Ignoring, ...faults: readonly string[]) {
  const caughtBy = faults.map((fault) => `runs nothing when the decision point ${fault}, and tells`)
  return { what: `takes ${what} for a yes`, way: inSpiteOf(isIgnored), caughtBy }
}

const unavailable =
  (kind: UnavailableError['kind'], said = ''): Ignoring =>
  ({ cause }) =>
    UnavailableError.isInstance(cause) && cause.kind === kind && cause.message.includes(said)

const answered =
  (status: number): Ignoring =>
  ({ cause }) =>
    ApiError.isInstance(cause) && cause.status === status

/** Of no answer, and of answers that cannot be trusted. */
export const FAULT_SABOTAGES = sabotagesBy([
  taking(
    'a connection that breaks',
    unavailable('connection'),
    'cannot be reached',
    'breaks off',
    'breaks off in the middle of its answer',
  ),
  taking('silence', unavailable('timeout'), 'hangs'),
  {
    what: 'waits for an answer for ever',
    way: withOptions({ timeoutMs: 600_000 }),
    caughtBy: ['runs nothing when the decision point hangs'],
    neverComes: 'the answer',
  },
  taking(
    'any answer',
    unavailable('bad_answer', 'is not a JSON object'),
    'answers a page',
    'answers null',
    'answers true',
    'answers a list',
  ),
  taking('an answer without a body', unavailable('bad_answer', 'an object'), 'answers nothing'),
  taking('an answer without an id', unavailable('bad_answer', 'an id'), 'answers no decision'),
  taking('500', answered(500), 'answers 500'),
  taking('503', answered(503), 'answers 503', 'answers 503 for a minute'),
  taking('429', answered(429), 'answers 429 for a minute'),
  taking('401', answered(401), 'does not know the key'),
  taking('400', answered(400), 'does not take the question'),
  taking(
    'a decision about something else',
    unavailable('bad_answer', 'for another agent, action or resource'),
    'answers about another agent',
    'answers about another action',
    'answers about another resource',
    'answers about no resource',
  ),
  taking(
    'an unknown effect',
    unavailable('bad_answer', 'a known effect'),
    'answers with an unknown effect',
    'answers with the name of a method as effect',
  ),
  taking(
    'a status that does not fit',
    unavailable('bad_answer', 'a status that fits'),
    'answers with an effect and a status that do not fit',
    'answers with an unknown status',
    'answers without a status',
  ),
  taking('what is over', ({ reason }) => reason === 'expired', 'answers what is over'),
  taking(
    'a decision without an end',
    unavailable('bad_answer', 'expires_at'),
    'answers without an end',
    'answers with an end that is no time',
  ),
])
