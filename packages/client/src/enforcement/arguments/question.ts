import { strangerMessage } from '../../known-options.js'
import { ownMembers } from '../../own-members.js'
import type { Json, JsonObject } from '../../wire.js'
import type { Asked, GuardRequest } from './asked.js'
import { isPlainArray, isPlainObject, membersOf } from './held-data.js'
import { assertNoMissingPart } from './missing-part.js'

const MEMBERS = ['agent_id', 'action', 'resource', 'context'] as const satisfies readonly (keyof GuardRequest)[]
/** The decision point refuses what is nested deeper; this is only to come to an end. */
const MAX_DEPTH = 64
/** More values than this do not fit into the 64 KiB of a question. */
const MAX_VALUES = 65_536

/**
 * The question as a copy of its own, frozen at every depth: the very one that is sent, checked against, and given to the
 * action. `agentOf` fills in and checks the agent.
 *
 * @throws TypeError naming what cannot be asked
 * @throws DeniedError (`question_refused`) for a part that a value was missing for
 */
export function readQuestion(request: GuardRequest, agentOf: (agent_id: string | undefined) => string): Asked {
  if (typeof request !== 'object' || request === null) throw new TypeError('the question has to be an object')
  const { agent_id, action, resource, context, ...more } = ownMembers(request)
  const [unknownMember] = Reflect.ownKeys(more)
  if (unknownMember !== undefined) throw new TypeError(strangerMessage('member', 'a question', unknownMember, MEMBERS))
  if (typeof action !== 'string') throw new TypeError('action has to be a string')
  if (resource !== null && resource !== undefined && typeof resource !== 'string') {
    throw new TypeError('resource has to be a string, or null for none')
  }
  if (agent_id !== undefined && typeof agent_id !== 'string') throw new TypeError('agent_id has to be a string')
  assertNoMissingPart({ agent_id, action, resource })
  const names = { agent_id: agentOf(agent_id), action, resource: resource ?? null }
  // The client's own agent may come from a variable that is not set.
  assertNoMissingPart({ agent_id: names.agent_id })
  return Object.freeze({
    ...names,
    context: context === null || context === undefined ? null : readContext(context),
  })
}

function readContext(context: unknown): JsonObject {
  if (typeof context !== 'object' || context === null || Array.isArray(context)) {
    throw new TypeError('context has to be an object')
  }
  return new JsonCopy().copy(context, 'context', 1) as JsonObject
}

/** What JSON would say of a value, and only where JSON says the same as the value. */
class JsonCopy {
  #count = 0
  readonly #above = new Set<object>()

  copy(value: unknown, place: string, depth: number): Json {
    this.#count += 1
    if (this.#count > MAX_VALUES) throw new TypeError(`context has more than ${MAX_VALUES} values`)
    if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
    if (typeof value === 'number') {
      // As JSON has it: there is one zero.
      if (Number.isFinite(value)) return value === 0 ? 0 : value
      throw new TypeError(`${place} is ${value}, which is no number in JSON`)
    }
    if (typeof value !== 'object') throw new TypeError(`${place} is a ${typeof value}, which is no JSON`)
    if (this.#above.has(value)) throw new TypeError(`${place} is circular`)
    if (depth > MAX_DEPTH) throw new TypeError(`${place} is nested too deep`)
    this.#above.add(value)
    const copy = this.#copyMembers(value, place, depth + 1)
    this.#above.delete(value)
    return copy
  }

  #copyMembers(value: object, place: string, depth: number): Json {
    if (isPlainArray(value)) {
      const members = membersOf(value, place)
      if (members.length > value.length) throw new TypeError(`${place} is an array with members of its own`)
      return Object.freeze(members.map(([key, member]) => this.copy(member, `${place}.${key}`, depth)))
    }
    if (!isPlainObject(value)) {
      throw new TypeError(`${place} is no plain object: a date is given as text, a map as an object`)
    }
    const copy: Record<string, Json> = {}
    for (const [key, member] of membersOf(value, place)) {
      // As JSON has it: a member that is undefined is absent.
      if (member !== undefined) copy[key] = this.copy(member, `${place}.${key}`, depth)
    }
    return Object.freeze(copy)
  }
}
