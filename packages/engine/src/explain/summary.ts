import type { Effect, FailedCondition, Json } from '@countersign/contract'
import { isReference } from '../condition-test.js'
import type { Evaluation } from '../evaluation.js'
import { describeNeed, withArticle } from '../reason.js'
import { firstCharacters, shortenText } from '../shorten.js'
import type { PolicyJudgement, RuleJudgement } from './judgement.js'
import type { NearestMiss } from './nearest-miss.js'
import { describePart, type View } from './rule-part.js'

const ANSWER: Readonly<Record<Effect, string>> = {
  allow: 'Allowed',
  deny: 'Denied',
  review: 'Sent to review',
  log: 'Logged',
}
const MISSED: Readonly<Record<Effect, string>> = {
  allow: 'allowed it',
  deny: 'denied it',
  review: 'sent it to review',
  log: 'logged it',
}
const COMPARISON: Readonly<Record<string, string>> = {
  $eq: 'been',
  $ne: 'been other than',
  $lt: 'been less than',
  $lte: 'been at most',
  $gt: 'been more than',
  $gte: 'been at least',
  $in: 'been one of',
  $nin: 'been none of',
  $contains: 'contained',
  $like: 'been like',
  $cidr: 'been in',
}
/** A summary is one sentence, so longer values are cut, and further items and conditions are only counted. */
const SHOWN_CHARACTERS = 60
const SHOWN_ITEMS = 5
const SHOWN_CONDITIONS = 3

/**
 * Writes one sentence on what decided and what would have led to less. Rules are counted from 1 here, as people count.
 */
export function summarize(
  evaluation: Evaluation,
  view: View,
  decided: PolicyJudgement | null,
  miss: NearestMiss | null,
): string {
  const missed = miss === null ? '' : `; ${describeMiss(miss, decided, view)}`
  return `${ANSWER[evaluation.effect]}: ${describeCause(evaluation, view, decided)}${missed}.`
}

function describeCause(
  { indeterminate, reason_code }: Evaluation,
  { request, hidesMetadata }: View,
  decided: PolicyJudgement | null,
) {
  if (reason_code === 'agent_suspended') return 'the agent is suspended, so no policy was asked'
  if (decided === null || decided.match === null) return 'no policy matches this request'
  const { rule } = decided.match
  const name = nameRule(decided.match)
  if (reason_code === 'evaluation_limit') return `${name} could not be judged within the steps of an evaluation`
  if (indeterminate !== undefined) return `${name} needs ${describeNeed(indeterminate, hidesMetadata)}`
  const object = `${rule.resource === null && rule.program.length === 0 ? 'every' : 'this'} ${request.action}`
  switch (rule.effect) {
    case 'allow':
      return `${name} allows ${object}`
    case 'deny':
      return `${name} denies ${object}`
    case 'review':
      return `${name} sends ${object} to review`
    case 'log':
      return `${name} logs ${object}`
  }
}

function describeMiss({ missed, effect }: NearestMiss, decided: PolicyJudgement | null, view: View): string {
  const isSamePolicy = decided !== null && missed.rule.policy === decided.policy
  const name = isSamePolicy ? `rule ${missed.rule.index + 1}` : nameRule(missed)
  const shown = missed.failures
    .slice(0, SHOWN_CONDITIONS)
    .map((failure) => phrase(describePart(failure, missed.rule, view)))
  const count = missed.failures.length
  if (count === 1) return `${name} would have ${MISSED[effect]}, had ${shown[0]}`
  const conditions = shown.map((condition) => condition.replace(' been ', ' '))
  const rest = count - shown.length
  const list = rest > 0 ? [...conditions, `${rest} more`] : conditions
  return `${name} would have ${MISSED[effect]} but for ${count} conditions: ${list.join(', ')}`
}

function nameRule({ rule }: RuleJudgement): string {
  return `rule ${rule.index + 1} of ${JSON.stringify(rule.policy.name)}`
}

/** Completes `had` with, for example, `context.amount been at most 100 (it was 150)`. */
function phrase({ path, operator, expected, actual, found, redacted }: FailedCondition): string {
  const isNegated = operator.startsWith('$not ')
  const plain = isNegated ? operator.slice('$not '.length) : operator
  const presence = expected ? 'been given' : 'been absent'
  const comparison =
    plain === '$exists'
      ? presence
      : `${COMPARISON[plain]} ${redacted && isReference(expected) ? shortenText(expected.$ref) : show(expected)}`
  return `${shortenText(path)}${isNegated ? ' not' : ''} ${comparison} (${redacted ? 'what it was is not shown' : `it was ${describeActual(actual, found)}`})`
}

function describeActual(actual: Json, found: string | undefined): string {
  if (found === undefined) return actual === null ? 'missing' : show(actual)
  return found === 'missing' || found === 'null' ? found : withArticle(found)
}

function show(value: Json): string {
  if (!Array.isArray(value)) return showOne(value)
  const items = value.slice(0, SHOWN_ITEMS).map(showOne)
  return value.length > items.length ? `${items.join(', ')} or ${value.length - items.length} more` : items.join(', ')
}

function showOne(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > SHOWN_CHARACTERS ? `${firstCharacters(text, SHOWN_CHARACTERS)}…` : text
}
