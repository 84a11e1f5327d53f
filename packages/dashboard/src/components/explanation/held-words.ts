/** Writes the conditions that held in words. */
import type { HeldCondition } from '@countersign/contract'
import { visibleText } from '../invisible'

/** The words of an operator: plain, and under `$not`. */
const OPERATORS: Readonly<Record<string, readonly [string, string]>> = {
  $eq: ['is', 'is not'],
  $ne: ['is not', 'is'],
  $lt: ['is <', 'is not <'],
  $lte: ['is <=', 'is not <='],
  $gt: ['is >', 'is not >'],
  $gte: ['is >=', 'is not >='],
  $in: ['is one of', 'is none of'],
  $nin: ['is none of', 'is one of'],
  $contains: ['contains', 'does not contain'],
  $like: ['is like', 'is not like'],
  $cidr: ['is in', 'is not in'],
}

/** One value, and every condition that held for it. */
export interface HeldOfPath extends Pick<HeldCondition, 'path' | 'actual' | 'redacted'> {
  /** `is > 0 and <= 100` */
  readonly words: string
}

/** Groups conditions by path, in the order in which the paths first appear. */
export function heldByPath(held: readonly HeldCondition[]): HeldOfPath[] {
  const byPath = new Map<string, HeldOfPath>()
  for (const condition of held) {
    const { path, actual, redacted } = condition
    // A value may be redacted in one condition, which reads the agent's metadata, and visible in another.
    const key = `${redacted ?? false} ${path}`
    const words = wordsOf(condition)
    const before = byPath.get(key)
    byPath.set(key, { path, actual, redacted, words: before === undefined ? words : joined(before.words, words) })
  }
  return [...byPath.values()]
}

/** Joins `is > 0` and `is <= 100` to `is > 0 and <= 100`. */
function joined(before: string, next: string): string {
  return `${before} and ${before.startsWith('is ') ? next.replace(/^is /, '') : next}`
}

function wordsOf({ path, operator, expected, actual }: HeldCondition): string {
  const isNegated = operator.startsWith('$not ')
  const plain = isNegated ? operator.slice('$not '.length) : operator
  if (plain === '$exists') return (expected === true) === isNegated ? 'is missing' : 'is present'
  if (plain === '$like' && isOfRule(path) && expected === actual) return 'is the one the rule names'
  return `${OPERATORS[plain]?.[isNegated ? 1 : 0] ?? visibleText(operator)} ${valueWords(expected)}`
}

/** Whether the rule matches this path with its own pattern. */
function isOfRule(path: string): boolean {
  return path === 'action' || path === 'resource'
}

function valueWords(value: HeldCondition['expected']): string {
  if (Array.isArray(value)) return value.map(valueWords).join(', ')
  if (typeof value === 'object' && value !== null && '$ref' in value) return visibleText(String(value.$ref))
  return visibleText(JSON.stringify(value))
}
