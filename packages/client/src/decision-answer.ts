/**
 * The last check before a decision reaches a caller: anything that is not clearly a decision is an error, never a
 * permission.
 */
import { isRecord } from './answer.js'
import { UnavailableError } from './errors/unavailable-error.js'
import { type AskedAction, isAnswerTo } from './is-permitted.js'
import { ownMembers } from './own-members.js'
import type { Decision, DecisionStatus, Effect } from './wire.js'

/** Each known effect with the statuses that a decision of that effect can have. */
const STATUSES: Readonly<Record<Effect, readonly DecisionStatus[]>> = {
  allow: ['authorized', 'confirmed', 'rejected', 'expired'],
  log: ['authorized', 'confirmed', 'rejected', 'expired'],
  review: ['awaiting_review', 'approved', 'declined', 'authorized', 'confirmed', 'rejected', 'expired'],
  deny: ['denied'],
}

/**
 * Reads the answer as a decision. Members that do not affect whether an action may run are passed on unchecked.
 *
 * @throws UnavailableError (`bad_answer`) for an unknown effect or status, an impossible pair of them, or no expiry
 */
export function readDecision(call: string, answer: unknown): Decision {
  const fault = isRecord(answer) ? faultOf(answer) : 'an object'
  if (fault === undefined) return answer as Decision
  throw new UnavailableError('bad_answer', `${call}: the answer is not a decision: it must have ${fault}`)
}

/** Also checks that the decision is about the requested agent, action and resource. */
export function readDecisionAbout(call: string, answer: unknown, asked: AskedAction): Decision {
  const decision = readDecision(call, answer)
  if (isAnswerTo(decision, asked)) return decision
  throw new UnavailableError('bad_answer', `${call}: the decision is for another agent, action or resource`)
}

/** Also checks that the decision has the requested id. */
export function readDecisionOf<Shown extends Decision = Decision>(call: string, answer: unknown, id: string): Shown {
  const decision = readDecision(call, answer)
  if (decision.id === id) return decision as Shown
  throw new UnavailableError('bad_answer', `${call}: the answer is another decision`)
}

/** As in RFC 3339: `Date.parse` accepts much more, such as a year alone. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/

function faultOf(given: Readonly<Record<string, unknown>>): string | undefined {
  const answer = ownMembers(given)
  const { id, effect, status, expires_at, resource, permit_token } = answer
  if (typeof id !== 'string' || !id.startsWith('dec_')) return 'an id that starts with dec_'
  if (typeof effect !== 'string' || !Object.hasOwn(STATUSES, effect)) return 'a known effect'
  const statuses: readonly unknown[] = STATUSES[effect as Effect]
  if (!statuses.includes(status)) return 'a status that fits its effect'
  if (typeof expires_at !== 'string' || !TIME.test(expires_at) || Number.isNaN(Date.parse(expires_at)))
    return 'expires_at as a time'
  if (typeof answer.agent_id !== 'string' || typeof answer.action !== 'string') return 'agent_id and action'
  if (typeof resource !== 'string' && resource !== null) return 'resource as a string or null'
  if (permit_token !== undefined && !(typeof permit_token === 'string' && TOKEN.test(permit_token)))
    return 'permit_token as a signed token or not at all'
  return undefined
}
