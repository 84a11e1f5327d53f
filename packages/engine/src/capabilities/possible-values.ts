import { type Json, LIMITS } from '@countersign/contract'
import { type Path, readPath } from '../path.js'
import type { Facts } from '../request.js'

/** The facts that all requests of one agent for one action share. */
export interface CommonFacts {
  readonly agent_id: string
  readonly action: string
  readonly metadata: Facts['metadata']
}

/** The possible values at a path; null when the caller chooses the value freely. */
export type PossibleValues = readonly (Json | undefined)[] | null

const HOURS = Array.from({ length: 24 }, (_, at) => at)
const WEEKDAYS = [1, 2, 3, 4, 5, 6, 7]
/** No time-dependent path is read with this. */
const ANY_MOMENT = new Date(0)

/** The agent, its metadata and the action are fixed; the time can be any hour of any day. */
export function possibleValues(path: Path, { agent_id, action, metadata }: CommonFacts): PossibleValues {
  switch (path.root) {
    case 'context':
    case 'resource':
    case 'resource.type':
    case 'resource.id':
      return null
    case 'now.hour':
      return HOURS
    case 'now.weekday':
      return WEEKDAYS
    default: {
      const request = { agent_id, action, resource: null, context: null }
      return [readPath(path, request, { now: ANY_MOMENT, suspended: false, metadata })]
    }
  }
}

/** Returns a value, among those that a caller can put at a path, that takes an operator the most steps to read. */
export function longestValue({ root }: Path, isArray: boolean): Json {
  if (root !== 'context') return LONGEST_RESOURCE
  return isArray ? LONGEST_ARRAY : LONGEST_TEXT
}

const LONGEST_RESOURCE = 'x'.repeat(LIMITS.resourceLength)
const LONGEST_TEXT = 'x'.repeat(LIMITS.decisionBodyBytes)
const LONGEST_ARRAY: Json[] = new Array(LIMITS.decisionBodyBytes)
