/**
 * The contract read aloud: a second evaluator without index, compilation or jumps, and without anything of the engine.
 * It goes through all policies, turns patterns into regular expressions and addresses into big integers.
 */
import { isIPv4, isIPv6 } from 'node:net'
import type { Effect, Json, JsonObject, PolicyDocument, Rule, Shadow } from '@countersign/contract'

export interface NaivePolicy extends PolicyDocument {
  readonly id: string
}
export interface NaiveRequest {
  readonly agent_id: string
  readonly action: string
  readonly resource: string | null
  readonly context: JsonObject | null
}
export interface NaiveFacts {
  readonly now: Date
  readonly suspended: boolean
  readonly metadata: JsonObject | null
}
export interface NaiveAnswer {
  readonly effect: Effect
  readonly policy_id: string
  readonly rule: number | null
  readonly reason_code: string
  readonly shadow: Shadow[]
}
/** What an evaluation went through, to show that random cases reach everything. */
export interface Coverage {
  readonly operators: Set<string>
  /** Operators that came out unknown. */
  unknownOperators: number
  /** Rules whose patterns and conditions together came out unknown. */
  unknownRules: number
  /** Whether several policies of the deciding priority matched. */
  isTie: boolean
}

/** What one policy says. */
interface Verdict {
  readonly policy: NaivePolicy
  readonly effect: Effect
  readonly rule: number
  readonly truth: Truth
}

type Truth = 'true' | 'false' | 'unknown'

const RESTRICTIVE_FIRST: readonly Effect[] = ['deny', 'review', 'allow', 'log']

export function newCoverage(): Coverage {
  return { operators: new Set(), unknownOperators: 0, unknownRules: 0, isTie: false }
}

export function evaluateNaively(
  policies: readonly NaivePolicy[],
  request: NaiveRequest,
  facts: NaiveFacts,
  coverage: Coverage = newCoverage(),
  maxSteps = 200_000,
): NaiveAnswer {
  const byDefault = { effect: 'deny', policy_id: 'pol_default', rule: null } as const
  if (facts.suspended) return { ...byDefault, reason_code: 'agent_suspended', shadow: [] }
  const isShadow = ({ policy }: Verdict) => policy.mode === 'shadow'
  const verdicts = judgeAll(policies, request, facts, coverage)
  const shadow = shadowWithin(maxSteps, policies, verdicts.filter(isShadow), request, facts)
  const limit = limitReached(maxSteps, policies, request, facts)
  if (limit !== null) return { effect: 'deny', ...limit, reason_code: 'evaluation_limit', shadow }
  const level = highestPriority(verdicts.filter((verdict) => !isShadow(verdict)))
  coverage.isTie = level.length > 1
  const [winner] = level.sort(
    (one, other) =>
      RESTRICTIVE_FIRST.indexOf(one.effect) - RESTRICTIVE_FIRST.indexOf(other.effect) ||
      byText(one.policy.id, other.policy.id),
  )
  if (winner === undefined) return { ...byDefault, reason_code: 'no_matching_policy', shadow }
  const reason_code = winner.truth === 'true' ? 'rule_matched' : 'condition_indeterminate'
  return { effect: winner.effect, policy_id: winner.policy.id, rule: winner.rule, reason_code, shadow }
}

interface Place {
  readonly policy_id: string
  readonly rule: number
}

/** Where the enforced policies, in the order of evaluation, have taken more steps than there are; null when they do not. */
function limitReached(
  maxSteps: number,
  policies: readonly NaivePolicy[],
  request: NaiveRequest,
  facts: NaiveFacts,
): Place | null {
  let left = maxSteps
  let found: Verdict | null = null
  for (const policy of inOrder(taking(policies, request)).filter(({ mode }) => mode !== 'shadow')) {
    if (found?.effect === 'deny' || (found !== null && (found.policy.priority ?? 0) !== (policy.priority ?? 0))) break
    const { steps, over } = stepsOfPolicy(policy, request, facts, left)
    if (over !== null) return { policy_id: policy.id, rule: over }
    left -= steps
    const verdict = judgePolicy(policy, request, facts, newCoverage())
    if (verdict === null) continue
    if (found === null || RESTRICTIVE_FIRST.indexOf(verdict.effect) < RESTRICTIVE_FIRST.indexOf(found.effect))
      found = { policy, ...verdict }
  }
  return null
}

/** The shadow policies share their steps: who goes beyond them denies, who comes after is left out. */
function shadowWithin(
  maxSteps: number,
  policies: readonly NaivePolicy[],
  verdicts: readonly Verdict[],
  request: NaiveRequest,
  facts: NaiveFacts,
): Shadow[] {
  const shadow: Shadow[] = []
  let left = maxSteps
  for (const policy of inOrder(taking(policies, request)).filter(({ mode }) => mode === 'shadow')) {
    const { steps, over } = stepsOfPolicy(policy, request, facts, left)
    if (over !== null) {
      shadow.push({ policy_id: policy.id, effect: 'deny', rule: over })
      break
    }
    left -= steps
    const verdict = verdicts.find((one) => one.policy === policy)
    if (verdict !== undefined) shadow.push({ policy_id: policy.id, effect: verdict.effect, rule: verdict.rule })
  }
  return shadow.sort((one, other) => byText(one.policy_id, other.policy_id))
}

function inOrder(policies: readonly NaivePolicy[]): NaivePolicy[] {
  return [...policies].sort((one, other) => (other.priority ?? 0) - (one.priority ?? 0) || byText(one.id, other.id))
}

/** What a policy takes up to the rule that decides for it, or the rule that goes beyond what is left. */
function stepsOfPolicy(
  policy: NaivePolicy,
  request: NaiveRequest,
  facts: NaiveFacts,
  left: number,
): { steps: number; over: number | null } {
  const last = judgePolicy(policy, request, facts, newCoverage())?.rule ?? policy.rules.length - 1
  let steps = 0
  for (const [index, rule] of policy.rules.slice(0, last + 1).entries()) {
    if (like(rule.action, request.action)) steps += stepsOfRule(rule, request, facts)
    if (steps > left) return { steps, over: index }
  }
  return { steps, over: null }
}

/** One for the rule, what its resource pattern reads, and unless that is false what its conditions take. */
function stepsOfRule({ resource, conditions }: Rule, request: NaiveRequest, facts: NaiveFacts): number {
  const isRead = resource !== undefined && !/^\*+$/.test(resource) && request.resource !== null
  const steps = 1 + (isRead ? unitsOf(resource.length + (request.resource as string).length) : 0)
  if (conditions === undefined || judgeResource(resource, request.resource) === 'false') return steps
  return steps + stepsOfConditions(conditions as JsonObject, request, facts)
}

/** In the order written, up to the first that is false. */
function stepsOfConditions(conditions: JsonObject, request: NaiveRequest, facts: NaiveFacts): number {
  const judge = (part: Json) => judgeConditions(part as JsonObject, request, facts, newCoverage())
  const count = (part: Json) => stepsOfConditions(part as JsonObject, request, facts)
  let steps = 0
  for (const [key, member] of Object.entries(conditions)) {
    steps += 1
    if (key === '$not') steps += count(member)
    else if (key === '$and') steps += sum(upTo('false', member as Json[], judge).map(count))
    else if (key === '$or') steps += sum(upTo('true', member as Json[], judge).map(count))
    else {
      const read = (path: string) => valueAt(path, request, facts)
      const operators = upTo('false', Object.entries(member as JsonObject), ([operator, operand]) =>
        judgeOperator(operator, read(key), operand, read),
      )
      steps += sum(operators.map(([operator, operand]) => 1 + unitsOf(sizeRead(operator, read(key), operand, read))))
    }
    if (judge({ [key]: member }) === 'false') break
  }
  return steps
}

/** The parts that are looked at: up to and with the first of which this is true. */
function upTo<Part>(settling: Truth, parts: readonly Part[], judge: (part: Part) => Truth): Part[] {
  const last = parts.findIndex((part) => judge(part) === settling)
  return last === -1 ? [...parts] : parts.slice(0, last + 1)
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}

function unitsOf(size: number): number {
  return Math.floor(size / 16)
}

/** Characters of texts and items of arrays, of two sides that the operator can compare. */
function sizeRead(
  operator: string,
  value: Json | undefined,
  written: Json,
  read: (path: string) => Json | undefined,
): number {
  const isReference = typeof written === 'object' && written !== null && !Array.isArray(written)
  const operand = isReference ? read((written as { $ref: string }).$ref) : written
  const characters = (side: Json | undefined) => (typeof side === 'string' ? side.length : 0)
  if (operator === '$in' || operator === '$nin')
    return isScalar(value) && Array.isArray(operand) ? operand.length + characters(value) : 0
  if (operator === '$contains')
    return Array.isArray(value) && isScalar(operand) ? value.length + characters(operand) : 0
  if (operator === '$like') return typeof value === 'string' ? value.length + characters(operand) : 0
  if (operator === '$cidr') return typeof value === 'string' ? Math.min(value.length, 45) + [operand].flat().length : 0
  if (operator === '$exists') return 0
  return typeof value === 'string' && typeof operand === 'string' ? Math.min(value.length, operand.length) : 0
}

/** What each policy at the deciding priority says by itself. */
export function decidingVerdicts(
  policies: readonly NaivePolicy[],
  request: NaiveRequest,
  facts: NaiveFacts,
): Verdict[] {
  const enforced = policies.filter(({ mode }) => mode !== 'shadow')
  return highestPriority(judgeAll(enforced, request, facts, newCoverage()))
}

function highestPriority(verdicts: readonly Verdict[]): Verdict[] {
  const highest = Math.max(...verdicts.map(({ policy }) => policy.priority ?? 0))
  return verdicts.filter(({ policy }) => (policy.priority ?? 0) === highest)
}

function judgeAll(
  policies: readonly NaivePolicy[],
  request: NaiveRequest,
  facts: NaiveFacts,
  coverage: Coverage,
): Verdict[] {
  return taking(policies, request).flatMap((policy) => {
    const verdict = judgePolicy(policy, request, facts, coverage)
    return verdict === null ? [] : [{ policy, ...verdict }]
  })
}

function taking(policies: readonly NaivePolicy[], request: NaiveRequest): NaivePolicy[] {
  return policies.filter(
    ({ enabled, agents }) =>
      enabled !== false && (agents === undefined || agents.some((pattern) => like(pattern, request.agent_id))),
  )
}

function judgePolicy(policy: NaivePolicy, request: NaiveRequest, facts: NaiveFacts, coverage: Coverage) {
  for (const [index, rule] of policy.rules.entries()) {
    const truth = judgeRule(rule, request, facts, coverage)
    if (truth === 'unknown') coverage.unknownRules += 1
    if (truth === 'true') return { effect: rule.effect, rule: index, truth }
    const isOpening = rule.effect === 'allow' || rule.effect === 'log'
    if (truth === 'unknown' && !isOpening && rule.on_unknown !== 'skip') {
      return { effect: 'deny' as const, rule: index, truth }
    }
  }
  return null
}

function judgeRule(rule: Rule, request: NaiveRequest, facts: NaiveFacts, coverage: Coverage): Truth {
  if (!like(rule.action, request.action)) return 'false'
  const parts = [judgeResource(rule.resource, request.resource)]
  if (rule.conditions !== undefined) {
    parts.push(judgeConditions(rule.conditions as JsonObject, request, facts, coverage))
  }
  return and(parts)
}

function judgeResource(pattern: string | undefined, resource: string | null): Truth {
  if (pattern === undefined || /^\*+$/.test(pattern)) return 'true'
  if (resource === null) return 'unknown'
  return truth(like(pattern, resource))
}

function judgeConditions(conditions: JsonObject, request: NaiveRequest, facts: NaiveFacts, coverage: Coverage): Truth {
  const judge = (inner: Json) => judgeConditions(inner as JsonObject, request, facts, coverage)
  return and(
    Object.entries(conditions).map(([key, member]) => {
      if (key === '$or') return or((member as Json[]).map(judge))
      if (key === '$and') return and((member as Json[]).map(judge))
      if (key === '$not') return negate(judge(member))
      const read = (path: string) => valueAt(path, request, facts)
      return and(
        Object.entries(member as JsonObject).map(([operator, operand]) => {
          const result = judgeOperator(operator, read(key), operand, read)
          coverage.operators.add(operator)
          if (result === 'unknown') coverage.unknownOperators += 1
          return result
        }),
      )
    }),
  )
}

export function valueAt(path: string, request: NaiveRequest, facts: NaiveFacts): Json | undefined {
  const colon = request.resource?.indexOf(':') ?? -1
  const fixed: Record<string, Json | undefined> = {
    agent_id: request.agent_id,
    action: request.action,
    resource: request.resource ?? undefined,
    'resource.type': request.resource?.substring(0, colon),
    'resource.id': request.resource?.substring(colon + 1),
    'now.hour': Number(facts.now.toISOString().substring(11, 13)),
    'now.weekday': ((facts.now.getUTCDay() + 6) % 7) + 1,
  }
  if (Object.keys(fixed).includes(path)) return fixed[path]
  const [root, ...fields] = path.split('.')
  let value: Json | undefined = root === 'context' ? request.context : facts.metadata
  for (const field of fields) {
    const isObject = Object.prototype.toString.call(value) === '[object Object]'
    const own: [string, Json][] = isObject ? Object.entries(value as JsonObject) : []
    value = own.find(([key]) => key === field)?.[1]
  }
  return value
}

function judgeOperator(
  operator: string,
  value: Json | undefined,
  written: Json,
  read: (path: string) => Json | undefined,
): Truth {
  const isReference = typeof written === 'object' && written !== null && !Array.isArray(written)
  const operand = isReference ? read((written as { $ref: string }).$ref) : written
  switch (operator) {
    case '$eq':
      return equal(value, operand)
    case '$ne':
      return negate(equal(value, operand))
    case '$lt':
      return ordered(value, operand, (order) => order < 0)
    case '$lte':
      return ordered(value, operand, (order) => order < 1)
    case '$gt':
      return ordered(value, operand, (order) => order > 0)
    case '$gte':
      return ordered(value, operand, (order) => order > -1)
    case '$in':
      return among(value, operand)
    case '$nin':
      return negate(among(value, operand))
    case '$contains':
      if (!Array.isArray(value) || !isScalar(operand)) return 'unknown'
      return or(value.map((item) => equal(item, operand)))
    case '$exists':
      return truth((value === undefined || value === null) !== operand)
    case '$like':
      return typeof value === 'string' ? truth(like(operand as string, value)) : 'unknown'
    case '$cidr':
      return inNetworks(value, [operand].flat() as string[])
    default:
      throw new Error(`there is no operator ${operator}`)
  }
}

function equal(value: Json | undefined, operand: Json | undefined): Truth {
  if (!isScalar(value) || !isScalar(operand) || typeof value !== typeof operand) return 'unknown'
  return truth(value === operand)
}

function ordered(value: Json | undefined, operand: Json | undefined, holds: (order: number) => boolean): Truth {
  if (typeof value === 'number' && typeof operand === 'number') {
    return truth(holds(value === operand ? 0 : value < operand ? -1 : 1))
  }
  if (typeof value === 'string' && typeof operand === 'string') return truth(holds(byText(value, operand)))
  return 'unknown'
}

function among(value: Json | undefined, list: Json | undefined): Truth {
  if (!isScalar(value) || !Array.isArray(list)) return 'unknown'
  if (list.length === 0) return 'false'
  const comparable = list.filter((item) => isScalar(item) && typeof item === typeof value)
  return comparable.length === 0 ? 'unknown' : truth(comparable.some((item) => item === value))
}

function inNetworks(value: Json | undefined, networks: readonly string[]): Truth {
  const address = typeof value === 'string' ? addressOf(value) : null
  if (address === null) return 'unknown'
  return truth(
    networks.some((network) => {
      const [base, prefix] = network.split('/') as [string, string]
      const from = addressOf(base) as NonNullable<ReturnType<typeof addressOf>>
      const free = BigInt((from.family === 4 ? 32 : 128) - Number(prefix))
      return from.family === address.family && from.bits >> free === address.bits >> free
    }),
  )
}

function addressOf(text: string): { family: 4 | 6; bits: bigint } | null {
  if (isIPv4(text)) return { family: 4, bits: BigInt(`0x${text.split('.').map(byteInHex).join('')}`) }
  if (!isIPv6(text) || text.includes('%')) return null
  const plain = text.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, a, b, c, d) => {
    return `${byteInHex(a)}${byteInHex(b)}:${byteInHex(c)}${byteInHex(d)}`
  })
  const [head = '', tail = ''] = plain.split('::')
  const [left, right] = [head, tail].map((half) => half.split(':').filter((group) => group !== '')) as [
    string[],
    string[],
  ]
  const zeros = Array.from({ length: 8 - left.length - right.length }, () => '0')
  const hex = [...left, ...zeros, ...right].map((group) => group.padStart(4, '0')).join('')
  const bits = BigInt(`0x${hex}`)
  return bits >> 32n === 0xffffn ? { family: 4, bits: bits & 0xffffffffn } : { family: 6, bits }
}

function byteInHex(decimal: string): string {
  return Number(decimal).toString(16).padStart(2, '0')
}

export function like(pattern: string, text: string): boolean {
  const expression = pattern
    .split('*')
    .map((part) => part.replace(/[\\^$.|?+()[\]{}/-]/g, '\\$&'))
    .join('[^]*')
  return new RegExp(`^${expression}$`).test(text)
}

function isScalar(value: Json | undefined): value is string | number | boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

function byText(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1
}

function truth(holds: boolean): Truth {
  return holds ? 'true' : 'false'
}

function negate(value: Truth): Truth {
  return value === 'unknown' ? 'unknown' : truth(value === 'false')
}

function and(values: readonly Truth[]): Truth {
  if (values.includes('false')) return 'false'
  return values.includes('unknown') ? 'unknown' : 'true'
}

function or(values: readonly Truth[]): Truth {
  if (values.includes('true')) return 'true'
  return values.includes('unknown') ? 'unknown' : 'false'
}
