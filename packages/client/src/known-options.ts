/** The only check against options that are misspelt or given in the wrong place. */
import { ownMembers } from './own-members.js'

const TO_CLIENT = 'give it to the client: new Countersign({ … })'
const TO_QUESTION = 'it is a member of the question: the first argument of guard, or the mapping of protect'
const TO_CALL = 'give it for the one call: guard(question, action, { … }), or the mapping of protect'
const TO_ENFORCEMENT = 'give it with the options of guard, protect or enforcement'

/** Says where each option of this package belongs. */
const OPTION_OWNERS: Readonly<Record<string, string>> = {
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
  assertOptions(of, options, known, elsewhere)
  return ownMembers(options)
}

/**
 * The same for options that may come from a class, such as a configuration with getters: its members count, too.
 *
 * @throws TypeError as `knownOptions` does
 */
export function knownOptionsOfClass<Options extends object>(
  of: string,
  options: Options,
  known: readonly string[],
): Options {
  assertOptions(of, options, known)
  const given = known.filter((name) => Object.hasOwn(options, name) || (name in options && !(name in Object.prototype)))
  const entries = given.map((name) => [name, options[name as keyof Options]])
  return Object.assign(Object.create(null), Object.fromEntries(entries))
}

/**
 * The same for a question or a settlement, which may have hidden members: they are left out.
 *
 * @param what what each known member is, such as `a member of a question`
 */
export function knownMembers<Given extends object>(what: string, given: Given, known: readonly string[]): Given {
  const own = ownMembers(given)
  assertKnown(what, own, known)
  return own
}

function assertOptions<Options>(
  of: string,
  options: Options,
  known: readonly string[],
  elsewhere?: Readonly<Record<string, string>>,
): asserts options is Options & object {
  if (typeof options !== 'object' || options === null) throw new TypeError(`the options of ${of} must be an object`)
  assertKnown(`an option of ${of}`, options, known, elsewhere)
}

function assertKnown(
  what: string,
  given: object,
  known: readonly string[],
  elsewhere: Readonly<Record<string, string>> = {},
): void {
  const stranger = Reflect.ownKeys(given).find((name) => !known.includes(name as string))
  if (stranger === undefined) return
  const name = String(stranger)
  const meant = known.find((one) => spelling(one) === spelling(name))
  const owners = { ...OPTION_OWNERS, ...elsewhere }
  const owner = Object.hasOwn(owners, name) ? owners[name] : undefined
  const hint = meant === undefined ? owner : `it is called ${meant}`
  throw new TypeError(`${name} is not ${what}${hint === undefined ? '' : `: ${hint}`}`)
}

function spelling(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase()
}

function ownedBy(owner: string, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, owner]))
}
