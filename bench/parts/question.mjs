/** What every decision point of a bench is asked: may this agent take this action, for this amount of this currency? */
export const POLICIES = 1_000
const REQUESTS = 2_048
export const HIGHEST_AMOUNT = 100
export const CURRENCIES = ['EUR', 'USD', 'CHF']
export const ALLOWED_ACTIONS = ['payment.create', 'payment.refund', 'email.*']

/** The two agents of a policy. */
export const agentsOf = (policy) => [`agent:${2 * policy}`, `agent:${2 * policy + 1}`]

/** As they are sent to us. 5 rules a policy; the second one or the last one allows. */
export function policies(members = {}) {
  const conditions = { 'context.amount': { $lte: HIGHEST_AMOUNT }, 'context.currency': { $in: CURRENCIES } }
  const rules = [
    { action: 'payment.create', effect: 'allow', conditions },
    { action: 'payment.refund', effect: 'allow', conditions },
    { action: 'payment.cancel', effect: 'review', conditions },
    { action: 'admin.*', effect: 'deny' },
    { action: 'email.*', effect: 'allow', conditions },
  ]
  return Array.from({ length: POLICIES }, (_, at) => ({
    name: `policy ${at}`,
    agents: agentsOf(at),
    rules,
    ...members,
  }))
}

/** Requests that are all allowed. */
export const requests = Array.from({ length: REQUESTS }, (_, at) => ({
  agent_id: `agent:${(at * 37) % (2 * POLICIES)}`,
  action: at % 2 === 0 ? 'payment.refund' : 'email.send',
  resource: `order:${at}`,
  context: {
    amount: (at * 13) % HIGHEST_AMOUNT,
    currency: 'EUR',
    customer: `customer-${at}`,
    note: 'asked for by the customer',
  },
}))
