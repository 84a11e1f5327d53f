import { knownMembers } from '../../known-options.js'
import type { JsonObject } from '../../wire.js'
import { frozenCopy } from '../arguments/frozen-copy.js'
import { assertNoMissingPart } from '../arguments/missing-part.js'
import type { RepeatableCall } from '../reviews/repeatable-call.js'
import type { AdmitOptions } from '../running/admission.js'
import type { Asked, GuardRequest } from './asked.js'

/** A request and the options of asking. */
export interface Asking {
  readonly options: AdmitOptions
  request(): GuardRequest
}

/** The question, read once and frozen, and who asks and claims. */
export interface Question {
  readonly asked: Asked
  readonly options: AdmitOptions
  readonly holder: string
  readonly claimHolder: string
  /** For a call without an idempotency key: a repeat takes up the review that it leaves behind. */
  readonly repeatable: RepeatableCall | undefined
}

const MEMBERS = ['agent_id', 'action', 'resource', 'context'] as const satisfies readonly (keyof GuardRequest)[]
/** Only to end the recursion: the decision point allows less. */
const MAX_DEPTH = 64
/** More values than this do not fit into the 64 KiB of a question. */
const MAX_VALUES = 65_536

/**
 * The question as a copy that is frozen at every depth. This copy is sent, compared with the answer, and passed to the action.
 * `agentOf` fills in and checks the agent.
 *
 * @throws TypeError naming what cannot be asked
 * @throws DeniedError (`question_refused`) for a part whose value was missing
 */
export function readQuestion(request: GuardRequest, agentOf: (agent_id: string | undefined) => string): Asked {
  if (typeof request !== 'object' || request === null) throw new TypeError('the question must be an object')
  const { agent_id, action, resource, context } = knownMembers('a member of a question', request, MEMBERS)
  if (typeof action !== 'string') throw new TypeError('action must be a string')
  if (resource !== null && resource !== undefined && typeof resource !== 'string') {
    throw new TypeError('resource must be a string, or null for none')
  }
  if (agent_id !== undefined && typeof agent_id !== 'string') throw new TypeError('agent_id must be a string')
  assertNoMissingPart({ agent_id, action, resource })
  const names = { agent_id: agentOf(agent_id), action, resource: resource ?? null }
  // The agent of the client may come from a variable that is not set.
  assertNoMissingPart({ agent_id: names.agent_id })
  return Object.freeze({
    ...names,
    context: context === null || context === undefined ? null : readContext(context),
  })
}

function readContext(context: unknown): JsonObject {
  if (typeof context !== 'object' || context === null || Array.isArray(context)) {
    throw new TypeError('context must be an object')
  }
  let count = 0
  const check = (value: unknown, path: string, depth: number): void => {
    count += 1
    if (count > MAX_VALUES) throw new TypeError(`context has more than ${MAX_VALUES} values`)
    if (depth >= MAX_DEPTH && typeof value === 'object') throw new TypeError(`${path} is nested too deep`)
    const isJson = typeof value === 'number' ? Number.isFinite(value) : value !== undefined && typeof value !== 'bigint'
    if (!isJson)
      throw new TypeError(`${path} is ${typeof value === 'bigint' ? 'a bigint' : value}, which JSON cannot hold`)
  }
  return frozenCopy(context, 'context', { check }) as JsonObject
}
