/** The one check that no option is misspelt, or given where nobody reads it. */

const TO_CLIENT = 'give it to the client: new Countersign({ … })'
const TO_QUESTION = 'it is a member of the question: the first argument of guard, or the mapping of protect'
const TO_CALL = 'give it for the one call: guard(question, action, { … }), or the mapping of protect'
const TO_ENFORCEMENT = 'give it with the options of guard, protect or enforcement'

/** Where each option of this package belongs. */
const OPTION_OWNERS: Readonly<Record<string, string>> = {
  ...ownedBy(TO_CLIENT, 'baseUrl', 'apiKey', 'agentId', 'connectTimeoutMs', 'maxRetries', 'headers'),
  ...ownedBy(TO_QUESTION, 'agent_id', 'action', 'resource', 'context'),
  ...ownedBy(TO_CALL, 'idempotencyKey', 'holder', 'claimHolder', 'variant', 'signal', 'nested'),
  ...ownedBy(TO_ENFORCEMENT, 'mode', 'review', 'unmapped', 'runs', 'settleOn', 'onError'),
  ...ownedBy(TO_ENFORCEMENT, 'timeoutMs', 'reviewTimeoutMs', 'settleTimeoutMs', 'onEvent', 'now'),
  amount: 'what an action really cost is said by run.setAmount(amount), or by confirm({ amount })',
  bind: 'give it with the mapping of protect',
}

/**
 * For integrations, which have options of their own.
 *
 * @param of what the options are of, such as `guard`
 * @param elsewhere where the own options of an integration belong, one sentence for each
 * @throws TypeError for anything but an object, and for an unknown member: the message says how that is spelt, or where it belongs
 */
export function assertOptions(
  of: string,
  options: unknown,
  known: readonly string[],
  elsewhere: Readonly<Record<string, string>> = {},
): void {
  if (typeof options !== 'object' || options === null) throw new TypeError(`the options of ${of} have to be an object`)
  const stranger = Reflect.ownKeys(options).find((name) => !known.includes(name as string))
  if (stranger !== undefined) throw new TypeError(strangerMessage('option', of, stranger, known, elsewhere))
}

/** What to say of a member that is not known: of an option, or of a question or settlement. */
export function strangerMessage(
  what: 'option' | 'member',
  of: string,
  stranger: string | symbol,
  known: readonly string[],
  elsewhere: Readonly<Record<string, string>> = {},
): string {
  const name = String(stranger)
  const meant = known.find((one) => spelling(one) === spelling(name))
  const owners = { ...OPTION_OWNERS, ...elsewhere }
  const owner = Object.hasOwn(owners, name) ? owners[name] : undefined
  const hint = meant === undefined ? owner : `it is called ${meant}`
  return `${name} is not ${what === 'option' ? 'an' : 'a'} ${what} of ${of}${hint === undefined ? '' : `: ${hint}`}`
}

function spelling(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase()
}

function ownedBy(owner: string, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, owner]))
}
