import type { Effect } from '@countersign/contract'
import type { Found, Indeterminate } from './indeterminate.js'
import { shortenText } from './shorten.js'

/** The sentences of a decision's `reason`. They are for a person and are stored with the decision. */
export const NO_POLICY_REASON = 'No policy matches this request.'
export const SUSPENDED_REASON = 'The agent is suspended.'
export const LIMIT_REASON = 'Evaluating this request takes more steps than allowed.'
export const FAULT_REASON = 'The decision point failed while it evaluated this request.'

/** Returns the reason of a rule that matched: its own if it has one; an allow has none. */
export function reasonOfMatch(effect: Effect, ownReason: string | null, action: string): string | null {
  switch (effect) {
    case 'allow':
      return null
    case 'deny':
      return ownReason ?? `The policy denies ${action}.`
    case 'review':
      return ownReason ?? `A person has to approve ${action}.`
    case 'log':
      return ownReason ?? `The policy records ${action} and does not block it.`
  }
}

/** Returns the reason of a rule that could not be judged. The rule's own reason would be false here. */
export function reasonOfUnknown(indeterminate: Indeterminate, hidesMetadata = false): string {
  return `The policy needs ${describeNeed(indeterminate, hidesMetadata)}.`
}

/** `context.amount as a number, and the request has none`. */
export function describeNeed(indeterminate: Indeterminate, hidesMetadata: boolean): string {
  const { path, expected, found, compared } = indeterminate
  if (hidesMetadata && tellsOfMetadata(compared)) {
    // Naming the one at fault would reveal the type of the other.
    const paths = compared.map(shortenText).join(' and ')
    return compared.length === 1
      ? `a value of ${paths} that can be compared, and there is none`
      : `values of ${paths} that can be compared, and there are none`
  }
  return `${shortenText(path)} as ${withArticle(expected)}, and ${holderOf(path)} has ${describeFound(expected, found)}`
}

/** `number` -> `a number`, `IP address` -> `an IP address`. */
export function withArticle(noun: string): string {
  return `${/^[aeioAEIO]/.test(noun) ? 'an' : 'a'} ${noun}`
}

/** Names the source of the fact at this path: the agent's metadata for `agent.…`, otherwise the request. */
export function holderOf(path: string): 'the agent' | 'the request' {
  return path.startsWith('agent.') ? 'the agent' : 'the request'
}

/** Whether one of the paths reads the agent's metadata. */
export function tellsOfMetadata(paths: readonly string[]): boolean {
  return paths.some((path) => holderOf(path) === 'the agent')
}

function describeFound(expected: string, found: Found): string {
  if (found === 'missing') return 'none'
  if (found === 'null') return 'null'
  if (found === 'array' && expected.startsWith('array')) return 'an array with other items'
  if (found === 'string' && expected === 'IP address') return 'another text'
  return withArticle(found)
}
