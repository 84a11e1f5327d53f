import { isJsonObject } from './json.js'
import { LIMITS } from './limits.js'
import { parseNetwork } from './network.js'
import { isAgentPath, isPath, PATH_PATTERNS } from './path.js'

/** A value that an operator compares. */
export type Scalar = string | number | boolean
/** A reference to the value at a path. */
export interface Ref {
  readonly $ref: string
}
/** Operators on one path; all must hold. */
export interface OperatorObject {
  readonly $eq?: Scalar | Ref
  readonly $ne?: Scalar | Ref
  readonly $lt?: string | number | Ref
  readonly $lte?: string | number | Ref
  readonly $gt?: string | number | Ref
  readonly $gte?: string | number | Ref
  readonly $in?: readonly Scalar[] | Ref
  readonly $nin?: readonly Scalar[] | Ref
  readonly $contains?: Scalar | Ref
  readonly $exists?: boolean
  readonly $like?: string
  readonly $cidr?: string | readonly string[]
}
/** The name of an operator. */
export type Operator = keyof OperatorObject

/** The right-hand side that an operator takes. */
interface Operand {
  readonly accepts: (value: unknown) => boolean
  readonly expects: string
  readonly jsonSchema: object
}

/** Whether a JSON value is a string, number or boolean, the types that can be compared. */
export function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)
}

function isOrdered(value: unknown): value is string | number {
  return typeof value === 'string' || Number.isFinite(value)
}

function isRef(value: unknown, isTarget: (path: string) => boolean): value is Ref {
  return (
    isJsonObject(value) &&
    Object.keys(value).length === 1 &&
    Object.hasOwn(value, '$ref') &&
    typeof value.$ref === 'string' &&
    isTarget(value.$ref)
  )
}

function isListOf(value: unknown, maximum: number, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length >= 1 && value.length <= maximum && value.every(isItem)
}

const isNetwork = (value: unknown): boolean => typeof value === 'string' && parseNetwork(value) !== null

const refSchema = (pattern: string) => ({
  type: 'object',
  properties: { $ref: { type: 'string', pattern } },
  required: ['$ref'],
  additionalProperties: false,
})
const ANY_REF = refSchema(PATH_PATTERNS.any)
const AGENT_REF = refSchema(PATH_PATTERNS.agent)
const SCALAR = { type: ['string', 'number', 'boolean'] }
const NETWORK = { type: 'string', pattern: '^[0-9A-Fa-f.:]+/[0-9]{1,3}$', examples: ['10.0.0.0/8', '2001:db8::/32'] }

const EQUAL: Operand = {
  accepts: (value) => isScalar(value) || isRef(value, isPath),
  expects: 'must be a string, a number, true, false or {"$ref": <path>}',
  jsonSchema: { anyOf: [SCALAR, ANY_REF] },
}
const ORDER: Operand = {
  accepts: (value) => isOrdered(value) || isRef(value, isPath),
  expects: 'must be a string, a number or {"$ref": <path>}',
  jsonSchema: { anyOf: [{ type: ['string', 'number'] }, ANY_REF] },
}
const MEMBER: Operand = {
  accepts: (value) => isListOf(value, LIMITS.inItems, isScalar) || isRef(value, isAgentPath),
  expects: `must be a list of 1 to ${LIMITS.inItems} strings, numbers and booleans, or {"$ref": "agent.<field>"}`,
  jsonSchema: { anyOf: [{ type: 'array', items: SCALAR, minItems: 1, maxItems: LIMITS.inItems }, AGENT_REF] },
}

/** THE table of operators: the right-hand side of each, as a check, as a sentence and as JSON Schema. */
export const OPERATORS: Readonly<Record<Operator, Operand>> = {
  $eq: EQUAL,
  $ne: EQUAL,
  $lt: ORDER,
  $lte: ORDER,
  $gt: ORDER,
  $gte: ORDER,
  $in: MEMBER,
  $nin: MEMBER,
  $contains: {
    accepts: (value) => isScalar(value) || isRef(value, isAgentPath),
    expects: 'must be a string, a number, true, false or {"$ref": "agent.<field>"}',
    jsonSchema: { anyOf: [SCALAR, AGENT_REF] },
  },
  $exists: {
    accepts: (value) => typeof value === 'boolean',
    expects: 'must be true or false',
    jsonSchema: { type: 'boolean' },
  },
  $like: {
    accepts: (value) => typeof value === 'string' && value.length >= 1 && value.length <= LIMITS.likeLength,
    expects: `must be a string of 1 to ${LIMITS.likeLength} characters`,
    jsonSchema: { type: 'string', minLength: 1, maxLength: LIMITS.likeLength },
  },
  $cidr: {
    accepts: (value) => isNetwork(value) || isListOf(value, LIMITS.cidrItems, isNetwork),
    expects: `must be <address>/<prefix>, such as 10.0.0.0/8, or a list of 1 to ${LIMITS.cidrItems} of them; an IPv4 network is not written as IPv6`,
    jsonSchema: { anyOf: [NETWORK, { type: 'array', items: NETWORK, minItems: 1, maxItems: LIMITS.cidrItems }] },
  },
}

/** Whether a key is the name of an operator. */
export function isOperator(key: string): key is Operator {
  return Object.hasOwn(OPERATORS, key)
}
