/** An agent buys pages that are paid over x402, under a budget. Exits 1 when a decision or the money ends differently. */
import assert from 'node:assert/strict'
import { Countersign, DeniedError } from '@countersign/client'
import { startDecisionPoint } from '../decision-point.mjs'
import { Network, openShop } from './shop.mjs'

const agent_id = 'agent:reader-1'
const policy = /** @type {const} */ ({
  name: 'paid pages',
  agents: ['agent:reader-*'],
  rules: [{ action: 'page.pay', effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 50 } } }],
  budget: { limit: 100, unit: 'USDC', period: 'daily' },
})

/** What each page comes to. */
const PAGES = [
  { path: '/weather', status: 'confirmed', what: 'paid, and answered' },
  { path: '/news', status: 'authorized', what: 'paid, and answered 402 again' },
  { path: '/charts', status: 'authorized', what: 'not paid, and answered 402 again' },
  { path: '/stocks', status: 'authorized', what: 'paid, and answered in another form' },
  { path: '/routes', status: 'authorized', what: 'paid, and the answer was lost' },
  { path: '/archive', status: 'denied', what: 'too dear: denied, and never sent' },
]

const network = new Network()
const shop = await openShop(network)
const decisionPoint = await startDecisionPoint()
try {
  const { url: baseUrl, apiKey } = decisionPoint
  const client = new Countersign({ baseUrl, apiKey, agentId: agent_id })
  const { id: policyId } = await client.policies.create(policy)

  /** @type {{ id: string, path: string }[]} */
  const asked = []
  console.log('The agent buys six pages. A 402 before the payment is a price, and no action yet.')
  for (const { path, status, what } of PAGES) {
    const end = await buy(client, path, (id) => asked.push({ id, path })).catch((error) => error)
    if (status === 'denied') assert.ok(DeniedError.isInstance(end), String(end))
    const id = DeniedError.isInstance(end) ? end.decision_id : asked.at(-1)?.id
    const decision = await client.decisions.get(id ?? '')
    assert.equal(decision.status, status, path)
    console.log(`  ${path.padEnd(10)}${decision.status.padEnd(12)}${what}`)
  }
  console.log(`  ${await balance(client, policyId)}\n`)
  assert.equal(network.total, 8)

  console.log(
    'Nobody can tell from a 402 whether a payment was booked. The network can, by its nonce: the id of the decision.',
  )
  for (const { id, path } of asked) {
    if ((await client.decisions.get(id)).status !== 'authorized') continue
    const amount = network.amountOf(id)
    if (amount === undefined) await client.decisions.reject(id, { reason: 'the network has not booked it' })
    else await client.decisions.confirm(id, { amount, note: 'as the network has booked it' })
    console.log(
      `  ${path.padEnd(10)}${amount === undefined ? 'rejected: never booked' : `confirmed: ${amount} USDC booked`}`,
    )
  }
  const told = await balance(client, policyId)
  console.log(`  ${told}`)
  assert.equal(told, `spent ${network.total} USDC, reserved 0 USDC`)
  console.log('\nThe budget says what the network has booked.')
} finally {
  await decisionPoint.stop()
  shop.close()
}

/**
 * Asks for the price, then for the permission, and pays once.
 *
 * @param {Countersign} client
 * @param {string} path
 * @param {(decisionId: string) => void} onBegun
 * @returns {Promise<string>} the receipt
 */
async function buy(client, path, onBegun) {
  const quote = await fetch(`${shop.url}${path}`)
  assert.equal(quote.status, 402)
  const [{ payTo, maxAmountRequired, scheme, network }] = (await quote.json()).accepts
  const question = {
    action: 'page.pay',
    resource: `payee:${payTo}`,
    context: { amount: Number(maxAmountRequired) / 1e6 },
  }
  return client.guard(question, async (_asked, { decision }) => {
    const nonce = decision?.id ?? ''
    onBegun(nonce)
    // From here on a failure says nothing: the seller may book first and answer anything.
    const authorization = { to: payTo, value: maxAmountRequired, nonce }
    const payment = JSON.stringify({ x402Version: 1, scheme, network, payload: { authorization } })
    const headers = { 'x-payment': Buffer.from(payment).toString('base64') }
    const answer = await fetch(`${shop.url}${path}`, { headers })
    if (!answer.ok) throw Object.assign(new Error('the page is not there'), { status: answer.status })
    return (await answer.json()).receipt.id
  })
}

/**
 * @param {Countersign} client
 * @param {string} policyId
 */
async function balance(client, policyId) {
  const [account] = (await client.policies.budget(policyId).page()).data
  return `spent ${account?.spent} USDC, reserved ${account?.reserved} USDC`
}
