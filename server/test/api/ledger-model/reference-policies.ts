/** What policies say, read from the contract once more: patterns, three-valued conditions, priorities. Shares no code with us. */

export interface ReferenceBudget {
  readonly limit: number
  readonly unit: string
  readonly period: string
  readonly actions?: readonly string[]
  readonly amount?: string | number
  readonly currency?: string
  readonly scope?: string
  readonly on_exceed?: string
}

interface ReferenceRule {
  readonly action: string
  readonly effect: string
  readonly conditions?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly on_unknown?: string
}

export interface ReferencePolicy {
  readonly id: string
  readonly name: string
  readonly priority?: number
  readonly enabled?: boolean
  readonly mode?: string
  readonly agents?: readonly string[]
  readonly rules: readonly ReferenceRule[]
  readonly budget?: ReferenceBudget
}

export interface ReferenceRequest {
  readonly agent_id: string
  readonly action: string
  readonly resource?: string | null
  readonly context?: object | null
}

/** What one policy says by itself: its first rule that matches, and whether that is for want of knowledge. */
interface Said {
  readonly policy: ReferencePolicy
  readonly rule: number
  readonly effect: string
  readonly isUnknown: boolean
}

export interface Judgement {
  readonly effect: string
  readonly reason_code: string
  readonly policy_id: string
  readonly rule: number | null
  /** Every policy that speaks at the priority that decides, by id. */
  readonly level: readonly Said[]
}

type Truth = boolean | null

export function matches(pattern: string, text: string): boolean {
  const literal = (part: string) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')
  return new RegExp(`^${pattern.split('*').map(literal).join('.*')}$`, 's').test(text)
}

/** Undefined where nothing stands. */
export function valueAt(path: string, request: ReferenceRequest, nowMs: number): unknown {
  if (path === 'now.hour') return new Date(nowMs).getUTCHours()
  const [, ...fields] = path.split('.')
  let value: unknown = request.context
  for (const field of fields) {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    value = isObject && Object.hasOwn(value as object, field) ? (value as Record<string, unknown>)[field] : undefined
  }
  return value
}

function compare(operator: string, value: unknown, wanted: unknown): Truth {
  if (typeof value !== typeof wanted || typeof value === 'object') return null
  if (operator === '$eq') return value === wanted
  if (typeof value === 'boolean') return null
  const [left, right] = [value as number, wanted as number]
  if (operator === '$gt') return left > right
  if (operator === '$gte') return left >= right
  if (operator === '$lt') return left < right
  if (operator === '$lte') return left <= right
  throw new Error(`The reference does not know ${operator}.`)
}

function all(truths: readonly Truth[]): Truth {
  return truths.includes(false) ? false : truths.includes(null) ? null : true
}

function says(policy: ReferencePolicy, request: ReferenceRequest, nowMs: number): Said | null {
  for (const [rule, { action, effect, conditions = {}, on_unknown }] of policy.rules.entries()) {
    const truths = Object.entries(conditions).flatMap(([path, operators]) =>
      Object.entries(operators).map(([operator, wanted]) => compare(operator, valueAt(path, request, nowMs), wanted)),
    )
    const truth = all([matches(action, request.action), ...truths])
    if (truth === true) return { policy, rule, effect, isUnknown: false }
    const opens = effect === 'allow' || effect === 'log'
    if (truth === null && !opens && on_unknown !== 'skip') return { policy, rule, effect: 'deny', isUnknown: true }
  }
  return null
}

const RESTRICTIVE_FIRST = ['deny', 'review', 'allow', 'log']

/** The answer of the live policies, before any budget is asked. */
export function judge(policies: readonly ReferencePolicy[], request: ReferenceRequest, nowMs: number): Judgement {
  const said = policies
    .filter(({ enabled = true, mode = 'enforce' }) => enabled && mode === 'enforce')
    .filter(({ agents = ['*'] }) => agents.some((pattern) => matches(pattern, request.agent_id)))
    .flatMap((policy) => says(policy, request, nowMs) ?? [])
  const priority = Math.max(...said.map(({ policy }) => policy.priority ?? 0))
  const level = said
    .filter(({ policy }) => (policy.priority ?? 0) === priority)
    .sort((a, b) => (a.policy.id < b.policy.id ? -1 : 1))
  const rank = ({ effect }: Said) => RESTRICTIVE_FIRST.indexOf(effect)
  const [first] = level.toSorted((a, b) => rank(a) - rank(b))
  if (first === undefined)
    return { effect: 'deny', reason_code: 'no_matching_policy', policy_id: 'pol_default', rule: null, level: [] }
  return {
    effect: first.effect,
    reason_code: first.isUnknown ? 'condition_indeterminate' : 'rule_matched',
    policy_id: first.policy.id,
    rule: first.rule,
    level,
  }
}
