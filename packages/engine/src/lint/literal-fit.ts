import {
  ActionPatternSchema,
  ActionSchema,
  AgentIdSchema,
  AgentPatternSchema,
  type Json,
  type Operator,
  ResourcePatternSchema,
  ResourceSchema,
  type Warning,
} from '@countersign/contract'
import { compareSides } from '../condition-test.js'
import type { Path } from '../path.js'
import { TRUE } from '../truth.js'
import type { Leaf } from './leaf.js'
import type { LintedRule } from './linted-rule.js'

/** The possible values at a path that every request has. */
interface Domain {
  readonly description: string
  readonly type: 'string' | 'number'
  readonly canBe: (literal: Json) => boolean
  /** Whether a `$like` pattern contains only characters that occur there. */
  readonly canBeLike: (pattern: string) => boolean
}

interface Check {
  safeParse(value: unknown): { success: boolean }
}

function textDomain(description: string, canBe: (text: string) => boolean, pattern: Check): Domain {
  return {
    description,
    type: 'string',
    canBe: (literal) => typeof literal === 'string' && canBe(literal),
    canBeLike: (text) => pattern.safeParse(text).success,
  }
}

function numberDomain(from: number, to: number): Domain {
  return {
    description: `a whole number from ${from} to ${to}`,
    type: 'number',
    canBe: (literal) => Number.isInteger(literal) && (literal as number) >= from && (literal as number) <= to,
    canBeLike: () => false,
  }
}

const DOMAINS: Readonly<Partial<Record<Path['root'], Domain>>> = {
  agent_id: textDomain('an agent id', (text) => AgentIdSchema.safeParse(text).success, AgentPatternSchema),
  action: textDomain('an action', (text) => ActionSchema.safeParse(text).success, ActionPatternSchema),
  resource: textDomain('of the form type:id', (text) => ResourceSchema.safeParse(text).success, ResourcePatternSchema),
  'resource.type': textDomain(
    'the part of a resource before its first colon',
    (text) => ResourceSchema.safeParse(`${text}:id`).success && !text.includes(':'),
    ActionPatternSchema,
  ),
  'resource.id': textDomain(
    'the part of a resource after its first colon',
    (text) => ResourceSchema.safeParse(`type:${text}`).success,
    ResourcePatternSchema,
  ),
  'now.hour': numberDomain(0, 23),
  'now.weekday': numberDomain(1, 7),
}

/** Finds literals that their path can never equal, match or be compared with; stops once there are `enough`. */
export function* checkLiterals(rules: readonly LintedRule[], enough: number): Generator<void, Warning[]> {
  const warnings: Warning[] = []
  for (const leaf of rules.flatMap(({ conjunctions }) => conjunctions.flatMap(({ leaves }) => leaves))) {
    if (warnings.length >= enough) break
    warnings.push(...misfits(leaf))
    yield
  }
  return warnings
}

function misfits(leaf: Leaf): Warning[] {
  const domain = DOMAINS[leaf.test.path.root]
  if (domain === undefined || leaf.test.ref !== null) return []
  if ((leaf.operator === '$in' || leaf.operator === '$nin') && Array.isArray(leaf.operand)) {
    return leaf.operand.flatMap((item, at) =>
      domain.canBe(item) ? [] : [misfit(leaf, item, domain, `${leaf.pointer}/${at}`)],
    )
  }
  return canFit(leaf, domain) ? [] : [misfit(leaf, leaf.operand, domain, leaf.pointer)]
}

function canFit(leaf: Leaf, domain: Domain): boolean {
  switch (leaf.operator satisfies Operator) {
    case '$eq':
    case '$ne':
      return domain.canBe(leaf.operand)
    case '$like':
      return domain.canBeLike(leaf.operand as string)
    case '$contains':
      return false
    case '$cidr':
      return domain.type === 'string'
    case '$exists':
      return true
    default:
      return typeof leaf.operand === domain.type && isWithinReach(leaf, domain)
  }
}

/** Whether an ordering holds for some value: no hour is above 23. */
function isWithinReach({ test, operand }: Leaf, { type, canBe }: Domain): boolean {
  if (type === 'string') return true
  return integers(0, 23).some((value) => canBe(value) && compareSides(test, value, operand) === TRUE)
}

function misfit(leaf: Leaf, literal: Json, domain: Domain, pointer: string): Warning {
  const message = `${leaf.operator} ${JSON.stringify(literal)} can never fit ${leaf.path}, which is ${domain.description}.`
  return { code: 'literal_never_fits', pointer, message }
}

function integers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, at) => from + at)
}
