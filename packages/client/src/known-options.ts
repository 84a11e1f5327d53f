/** Checks options, and says where one in the wrong place belongs. */
import { assertKnown, assertOptions } from './option-check.js'
import { ownMembers } from './own-members.js'

const TO_CLIENT = 'give it to the client: new Countersign({ … })'
const TO_QUESTION = 'it is a member of the question: the first argument of guard, or the mapping of protect'
const TO_CALL = 'give it for the one call: guard(question, action, { … }), or the mapping of protect'
const TO_ENFORCEMENT = 'give it with the options of guard, protect or enforcement'

/** Says where each option of this package belongs. */
export const OPTION_OWNERS: Readonly<Record<string, string>> = {
  ...ownedBy(TO_CLIENT, 'baseUrl', 'apiKey', 'agentId', 'connectTimeoutMs', 'maxRetries', 'headers'),
  ...ownedBy(TO_QUESTION, 'agent_id', 'action', 'resource', 'context'),
  ...ownedBy(TO_CALL, 'idempotencyKey', 'holder', 'claimHolder', 'variant', 'signal', 'nested'),
  ...ownedBy(TO_ENFORCEMENT, 'mode', 'review', 'unmapped', 'runs', 'settleOn', 'onError'),
  ...ownedBy(TO_ENFORCEMENT, 'timeoutMs', 'reviewTimeoutMs', 'settleTimeoutMs', 'onEvent', 'now'),
  amount: 'report the real cost of an action with run.setAmount(amount) or confirm({ amount })',
  bind: 'give it with the mapping of protect',
}

/**
 * Returns the options as an object without a prototype, so that nothing on `Object.prototype` can replace an absent one.
 *
 * @param of the function or object that the options belong to, such as `guard`
 * @param elsewhere where the options of an integration belong, one sentence for each
 * @throws TypeError for anything but an object, and for an unknown member: the message gives the spelling, or the right
 *   place
 */
export function knownOptions<Options>(
  of: string,
  options: Options,
  known: readonly string[],
  elsewhere: Readonly<Record<string, string>> = {},
): Options & object {
  assertOptions(of, options, known, { ...OPTION_OWNERS, ...elsewhere })
  return ownMembers(options)
}

/**
 * The same for a question or a settlement, which may have hidden members: they are left out.
 *
 * @param what what each known member is, such as `a member of a question`
 */
export function knownMembers<Given extends object>(what: string, given: Given, known: readonly string[]): Given {
  const own = ownMembers(given)
  assertKnown(what, own, known, OPTION_OWNERS)
  return own
}

function ownedBy(owner: string, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, owner]))
}
