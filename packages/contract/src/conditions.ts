import { z } from 'zod'
import { isJsonObject } from './json.js'
import { LIMITS } from './limits.js'
import { isOperator, OPERATORS, type OperatorObject } from './operators.js'
import { FIXED_PATHS, isPath, PATH_PATTERNS } from './path.js'

/**
 * Maps paths to operators, and has the groups `$or`, `$and` (lists of conditions) and `$not`; all members must hold.
 */
export type Conditions = { readonly [pathOrGroup: string]: OperatorObject | readonly Conditions[] | Conditions }

type Place = readonly PropertyKey[]
interface Fault {
  readonly path: Place
  readonly message: string
  /** Names that may have been meant instead of the last step of the path. */
  readonly names?: readonly string[]
}

const GROUPS = ['$or', '$and', '$not'] as const
type Group = (typeof GROUPS)[number]

const OPERATOR_NAMES = Object.keys(OPERATORS)
const PATH_AND_GROUP_NAMES = [...FIXED_PATHS, ...GROUPS]

function isGroup(key: string): key is Group {
  return (GROUPS as readonly string[]).includes(key)
}

function* faultsOfOperators(value: unknown, at: Place): Generator<Fault> {
  const keys = isJsonObject(value) ? Object.keys(value) : []
  if (!isJsonObject(value) || keys.length === 0)
    yield { path: at, message: 'must be an object of at least one operator' }
  else
    for (const key of keys) {
      const path = [...at, key]
      if (!isOperator(key)) yield { path, message: 'is not an operator', names: OPERATOR_NAMES }
      else if (!OPERATORS[key].accepts(value[key])) yield { path, message: OPERATORS[key].expects }
    }
}

function* faultsOfGroup(group: Group, value: unknown, at: Place, depth: number): Generator<Fault> {
  if (depth > LIMITS.groupDepth)
    yield { path: at, message: `groups may be at most ${LIMITS.groupDepth} inside one another` }
  else if (group === '$not') yield* faultsOfConditions(value, at, depth)
  else if (!Array.isArray(value) || value.length === 0)
    yield { path: at, message: 'must be a list of at least one conditions object' }
  else for (const [index, item] of value.entries()) yield* faultsOfConditions(item, [...at, index], depth)
}

function* faultsOfConditions(value: unknown, at: Place, depth: number): Generator<Fault> {
  const keys = isJsonObject(value) ? Object.keys(value) : []
  if (!isJsonObject(value) || keys.length === 0)
    yield { path: at, message: 'must be an object of at least one condition' }
  else
    for (const key of keys) {
      const path = [...at, key]
      if (isGroup(key)) yield* faultsOfGroup(key, value[key], path, depth + 1)
      else if (isPath(key)) yield* faultsOfOperators(value[key], path)
      else yield { path, message: 'is neither a path nor a group', names: PATH_AND_GROUP_NAMES }
    }
}

const SELF = { $ref: '#/components/schemas/Conditions' }
const OPERATOR_OBJECT = {
  type: 'object',
  properties: Object.fromEntries(Object.entries(OPERATORS).map(([operator, { jsonSchema }]) => [operator, jsonSchema])),
  additionalProperties: false,
  minProperties: 1,
}

/** Conditions of a rule. Faults name the exact place; a faulty right-hand side is reported at its operator. */
export const ConditionsSchema = z
  .custom<Conditions>()
  .meta({
    id: 'Conditions',
    type: 'object',
    description:
      'Maps paths to operators. The groups `$or`, `$and` (lists of conditions) and `$not` nest at most 8 deep. All members must be true. ' +
      'Paths: `agent_id`, `action`, `resource`, `resource.type`, `resource.id`, `context.<field>`, `agent.<field>`, `now.hour`, `now.weekday`.',
    // Uses patterns only: if members were named beside them, type generators would require of those what holds for all
    // others. `propertyNames` rejects other members; with `additionalProperties: false`, clients that ignore patterns
    // would drop all conditions.
    patternProperties: {
      [PATH_PATTERNS.any]: OPERATOR_OBJECT,
      '^\\$(or|and)$': { type: 'array', items: SELF, minItems: 1 },
      '^\\$not$': SELF,
    },
    additionalProperties: { description: 'Operators for a path, or a group.' },
    propertyNames: {
      type: 'string',
      anyOf: [{ pattern: PATH_PATTERNS.any }, { enum: GROUPS }],
      description: 'A path or a group.',
    },
    minProperties: 1,
    examples: [{ 'context.amount': { $gt: 0, $lte: 100 } }],
  })
  .superRefine((value, ctx) => {
    let found = 0
    for (const { path, message, names } of faultsOfConditions(value, [], 0)) {
      ctx.addIssue({ code: 'custom', path: [...path], message, ...(names && { params: { names } }) })
      found += 1
      if (found === LIMITS.namedFaults) break
    }
  })
