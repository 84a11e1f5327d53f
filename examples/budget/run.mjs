/** Twelve agents race for one budget. Exits 1 when the wrong ones pass, or when the money does not add up to the cent. */
import assert from 'node:assert/strict'
import { Countersign, isPermitted } from '@countersign/client'
import { startDecisionPoint } from '../decision-point.mjs'

const LIMIT = 1000
const QUOTE = 120
const action = 'purchase.create'
/** What the shops charge in the end, no matter who buys there; null: sold out, so nothing is bought. */
const FIRST_PRICES = [119.99, 120, 87.35, null, 104.1, 0.01, null, 99.9]
/** The last one is more than was reserved. */
const SECOND_PRICES = [118.25, 119.4, 121]

const { url, apiKey, stop } = await startDecisionPoint()
try {
  const admin = new Countersign({ baseUrl: url, apiKey })
  const policy = await admin.policies.create({
    name: 'offsite purchases',
    rules: [{ action, effect: 'allow', conditions: { 'context.amount': { $gt: 0 } } }],
    budget: { limit: LIMIT, unit: 'EUR', period: 'total' },
  })
  const account = async () => {
    const { data } = await admin.policies.budget(policy.id).page()
    assert.equal(data.length, 1)
    const { spent, reserved, remaining } = data[0]
    return { spent, reserved, remaining }
  }
  const buyers = await Promise.all(Array.from({ length: 12 }, (_, i) => makeBuyer(admin, `agent:buyer-${i + 1}`)))

  tell(`Twelve agents ask for ${euros(QUOTE)} each, at once; the limit is ${euros(LIMIT)}.`)
  const first = await raceFor(QUOTE, buyers)
  assert.equal(first.permitted.length, Math.floor(LIMIT / QUOTE))
  for (const { decision } of first.refused) assert.equal(decision.advice?.max_amount, 40)
  await expectAccount(account, { spent: 0, reserved: 960, remaining: 40 })

  tell('Each that passed buys, and confirms what it really cost, or rejects.')
  await settle(first.permitted, FIRST_PRICES)
  await expectAccount(account, { spent: 531.35, reserved: 0, remaining: 468.65 })

  tell('There is room again for the four that were refused; not for all of them.')
  const second = await raceFor(
    QUOTE,
    first.refused.map(({ buyer }) => buyer),
  )
  assert.equal(second.permitted.length, 3)
  await settle(second.permitted, SECOND_PRICES)
  await expectAccount(account, { spent: 890, reserved: 0, remaining: 110 })

  tell('The last one takes what is left: a cent more is refused.')
  const [{ buyer: last }] = second.refused
  assert.equal((await raceFor(110.01, [last])).refused.length, 1)
  const third = await raceFor(110, [last])
  assert.equal(third.permitted.length, 1)
  await settle(third.permitted, [110])
  await expectAccount(account, { spent: LIMIT, reserved: 0, remaining: 0 })

  assert.equal(await confirmedCents(admin), LIMIT * 100)
  tell('Spent to the cent, and the confirmed decisions add up to the same.')
} finally {
  await stop()
}

/** An agent whose API key can ask for this agent, and for nothing else. */
async function makeBuyer(admin, agentId) {
  const { key } = await admin.keys.create({ name: agentId, scopes: ['decisions:write'], agents: [agentId] })
  return { agentId, client: new Countersign({ baseUrl: url, apiKey: key, agentId }) }
}

/** All of them ask at once. An agent that is refused was refused by the budget and by nothing else. */
async function raceFor(amount, buyers) {
  const answers = await Promise.all(
    buyers.map(async (buyer) => {
      const resource = `cart:${buyer.agentId.slice('agent:'.length)}`
      const decision = await buyer.client.authorize({ action, resource, context: { amount, currency: 'EUR' } })
      const asked = { agent_id: buyer.agentId, action, resource }
      return { buyer, decision, mayRun: isPermitted(decision, asked) }
    }),
  )
  const permitted = answers.filter(({ mayRun }) => mayRun)
  const refused = answers.filter(({ mayRun }) => !mayRun)
  for (const { decision } of refused) assert.equal(`${decision.effect} ${decision.reason_code}`, 'deny budget_exceeded')
  tell(`  ${permitted.length} may buy, ${refused.length} refused`)
  return { permitted, refused }
}

/** Each buys something else, all at once: who confirms what is as the race came out, the sum is not. */
async function settle(permitted, prices) {
  assert.equal(permitted.length, prices.length)
  await Promise.all(
    permitted.map(async ({ buyer, decision }, i) => {
      const price = prices[i]
      const settled =
        price === null
          ? await buyer.client.decisions.reject(decision.id, { reason: 'sold out' })
          : await buyer.client.decisions.confirm(decision.id, { amount: price })
      assert.equal(settled.status, price === null ? 'rejected' : 'confirmed')
      assert.equal(settled.outcome?.amount, price)
      assert.equal(settled.outcome?.overage, price !== null && price > decision.budgets[0].amount)
    }),
  )
  tell(`  ${prices.map((price) => (price === null ? 'rejected' : euros(price))).join(', ')}`)
}

async function expectAccount(account, expected) {
  const found = await account()
  assert.deepEqual(found, expected)
  const { spent, reserved, remaining } = found
  tell(`  spent ${euros(spent)}, reserved ${euros(reserved)}, remaining ${euros(remaining)}\n`)
}

async function confirmedCents(admin) {
  let cents = 0
  for await (const { outcome } of admin.decisions.list({ status: 'confirmed' })) {
    cents += Math.round(outcome.amount * 100)
  }
  return cents
}

function euros(amount) {
  return `${amount.toFixed(2)} EUR`
}

function tell(line) {
  console.log(line)
}
