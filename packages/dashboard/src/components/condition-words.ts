/** Writes conditions in words. Anything unknown is shown unchanged: a draft may contain anything. */
import { visibleText } from './invisible'

const OPERATORS: Readonly<Record<string, string>> = {
  $eq: 'is',
  $ne: 'is not',
  $lt: 'is less than',
  $lte: 'is at most',
  $gt: 'is more than',
  $gte: 'is at least',
  $in: 'is one of',
  $nin: 'is none of',
  $contains: 'contains',
  $like: 'is like',
  $cidr: 'is in',
}

/** Returns `context.amount is at most 100 and context.currency is EUR`; an empty text for no conditions. */
export function conditionWords(conditions: unknown): string {
  if (conditions === undefined) return ''
  if (!isObject(conditions)) return valueWords(conditions)
  return Object.entries(conditions).map(memberWords).join(' and ')
}

function operatorWords(path: string, operator: string, expected: unknown): string {
  const shown = visibleText(path)
  if (operator === '$exists') return `${shown} ${expected === false ? 'is missing' : 'is present'}`
  return `${shown} ${OPERATORS[operator] ?? visibleText(operator)} ${valueWords(expected)}`
}

/** Writes a value. A text has quotes only where it would otherwise look like something else. */
function valueWords(value: unknown): string {
  if (typeof value === 'string')
    return visibleText(/^[A-Za-z][^\s,"]*$/.test(value) && !isWord(value) ? value : JSON.stringify(value))
  if (Array.isArray(value)) return value.map(valueWords).join(', ')
  if (isObject(value) && typeof value.$ref === 'string') return visibleText(value.$ref)
  return visibleText(JSON.stringify(value) ?? '')
}

function memberWords([key, value]: [string, unknown]): string {
  if (key === '$not') return `not (${conditionWords(value)})`
  if ((key === '$or' || key === '$and') && Array.isArray(value))
    return value.length === 1
      ? conditionWords(value[0])
      : `(${value.map(conditionWords).join(key === '$or' ? ' or ' : ' and ')})`
  if (!isObject(value)) return `${visibleText(key)} ${valueWords(value)}`
  return Object.entries(value)
    .map(([operator, expected]) => operatorWords(key, operator, expected))
    .join(' and ')
}

function isWord(text: string): boolean {
  return text === 'true' || text === 'false' || text === 'null'
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
