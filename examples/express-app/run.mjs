/** Agents call a payments API, which asks; a ledger takes its permits. Exits 1 when it comes out differently. */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { Countersign } from '@countersign/client'
import { SignJWT } from 'jose'
import { startDecisionPoint } from '../decision-point.mjs'

const LEDGER = fileURLToPath(new URL('ledger.mjs', import.meta.url))
const PAYMENTS_API = fileURLToPath(new URL('payments-api.mjs', import.meta.url))
const TOKEN_SECRET = 'what-the-payments-api-and-its-token-issuer-share'
const AGENT = 'agent:support-7'
const services = []

const decisionPoint = await startDecisionPoint()
const admin = new Countersign({ baseUrl: decisionPoint.url, apiKey: decisionPoint.apiKey })
try {
  const policy = await admin.policies.create({
    name: 'refunds',
    agents: ['agent:support-*'],
    rules: [
      { action: 'payment.refund', effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 100 } } },
      { action: 'payment.refund', effect: 'review', conditions: { 'context.amount': { $gt: 0, $lte: 1000 } } },
    ],
    budget: { limit: 2000, unit: 'EUR', period: 'monthly' },
  })
  // The API may ask for its agents, and Ada may answer for people; the ledger has no key at all.
  const forApi = await admin.keys.create({ name: 'payments API', scopes: ['decisions:write'], agents: ['agent:*'] })
  const forAda = await admin.keys.create({ name: 'Ada', scopes: ['reviews:write', 'decisions:read'] })
  const ada = new Countersign({ baseUrl: decisionPoint.url, apiKey: forAda.key })
  const asApi = { COUNTERSIGN_URL: decisionPoint.url, COUNTERSIGN_API_KEY: forApi.key }

  const ledger = await startService(LEDGER, { COUNTERSIGN_URL: decisionPoint.url })
  const api = await startService(PAYMENTS_API, { ...asApi, LEDGER_URL: ledger, TOKEN_SECRET })
  const refund = await refundsAt(api, AGENT)
  const accountIs = async (expected) => {
    const { data } = await admin.policies.budget(policy.id).page()
    const [{ spent, reserved }] = data
    assert.deepEqual({ spent, reserved }, expected)
    tell(`  spent ${spent}, reserved ${reserved}`)
  }

  tell('An agent asks the payments API for refunds')
  await expectAnswer('42.50', refund('8812', 42.5), 201)
  await expectAnswer('1500, more than any rule allows', refund('8812', 1500), 403, 'denied')
  await expectAnswer('without an amount', refund('8812'), 403, 'denied')
  await expectAnswer('by an agent of another team', (await refundsAt(api, 'agent:sales-1'))('8812', 1), 403, 'denied')
  assert.equal((await fetch(`${api}/refunds/8812`, { method: 'POST' })).status, 401)
  tell('  by nobody: 401')
  await accountIs({ spent: 42.5, reserved: 0 })

  tell('\n400 need a person; the call is repeated under its Idempotency-Key')
  const again = () => refund('8813', 400, { 'idempotency-key': 'refund-8813' })
  const { decision_id } = await expectAnswer('first', again(), 403, 'review_required')
  await ada.decisions.approve(decision_id, { comment: 'checked the order' })
  tell('  Ada approves')
  await expectAnswer('then', again(), 201)
  await expectAnswer('once more', again(), 403, 'already_claimed')
  await accountIs({ spent: 442.5, reserved: 0 })

  tell('\nA ledger books 50, breaks, and answers 500')
  let bookedThere = 0
  const faultyLedger = await startFaultyLedger(() => {
    bookedThere += 1
  })
  const apiOfFaulty = await startService(PAYMENTS_API, { ...asApi, LEDGER_URL: faultyLedger, TOKEN_SECRET })
  await expectAnswer('the API', (await refundsAt(apiOfFaulty, AGENT))('8817', 50), 500, 'internal_error')
  assert.equal(bookedThere, 1)
  // It tells what it has to tell before it ends.
  await stopService(services.pop())
  await accountIs({ spent: 442.5, reserved: 50 })
  tell('  the 50 stay reserved, and count as spent when the decision expires')

  tell('\nSomebody calls the ledger past the API')
  const client = new Countersign({ baseUrl: decisionPoint.url, apiKey: forApi.key, agentId: AGENT })
  const permitFor = async (order, amount) => {
    const context = { amount, currency: 'EUR' }
    return (await client.authorize({ action: 'payment.refund', resource: `order:${order}`, context })).permit_token
  }
  const book = (order, amount, permit) => send(`${ledger}/bookings/${order}`, { amount }, permit)
  await expectAnswer('without a permit', book('8814', 10), 401, 'permit_missing')
  const permit = await permitFor('8814', 10)
  await expectAnswer('with one for another order', book('9999', 10, permit), 403, 'resource_mismatch')
  await expectAnswer('with one for another amount', book('8814', 10_000, permit), 403, 'request_hash_mismatch')
  const callers = await Promise.all(Array.from({ length: 20 }, () => book('8814', 10, permit)))
  const statuses = callers.map(({ status }) => status).sort()
  assert.deepEqual(statuses, [201, ...Array(19).fill(401)])
  tell('  with the right one, 20 at once: 1 booked, 19 refused')

  tell('\nThe decision point is stopped')
  const kept = await permitFor('8815', 20)
  await decisionPoint.stop()
  await expectAnswer('the API', refund('8816', 1), 503, 'unavailable')
  await expectAnswer('the ledger, with a permit from before', book('8815', 20, kept), 201)
  await expectAnswer('the same permit again', book('8815', 20, kept), 401, 'already_seen')

  const bookings = await (await fetch(`${ledger}/bookings`)).json()
  assert.deepEqual(
    bookings.map(({ order, amount, agent }) => [order, amount, agent]),
    [
      ['8812', 42.5, AGENT],
      ['8813', 400, AGENT],
      ['8814', 10, AGENT],
      ['8815', 20, AGENT],
    ],
  )
  tell(`\nBooked: ${bookings.map(({ order, amount }) => `${order} ${amount.toFixed(2)}`).join(', ')}. Nothing else.`)
} finally {
  await Promise.all(services.map(stopService))
  await decisionPoint.stop()
}

/** A service as a process of its own; resolves with where it listens. */
async function startService(program, env) {
  const service = fork(program, { env: { PATH: process.env.PATH, NODE_ENV: 'production', ...env } })
  services.push(service)
  const [{ url }] = await once(service, 'message')
  return url
}

async function stopService(service) {
  service.disconnect()
  if (service.exitCode === null) await once(service, 'exit')
}

/** Books, and answers that it has a fault; resolves with where it listens. It goes with this process. */
async function startFaultyLedger(book) {
  const server = createServer((_req, res) => {
    book()
    res.writeHead(500, { 'content-type': 'application/json' }).end('{"code": "internal_error"}')
  }).listen(0, '127.0.0.1')
  server.unref()
  await once(server, 'listening')
  return `http://127.0.0.1:${server.address().port}`
}

/** How an agent calls the payments API: with a token that says who it is. */
async function refundsAt(api, agent) {
  const token = await new SignJWT({ sub: agent })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('5m')
    .sign(new TextEncoder().encode(TOKEN_SECRET))
  return (order, amount, headers) => send(`${api}/refunds/${order}`, { amount }, token, headers)
}

async function send(url, content, token, headers = {}) {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization, ...headers },
    body: JSON.stringify(content),
  })
  return { status: answer.status, body: await answer.json() }
}

/** The body of an answer that is as expected. */
async function expectAnswer(what, answering, status, code) {
  const answer = await answering
  assert.deepEqual([answer.status, answer.body.code], [status, code], what)
  tell(`  ${what}: ${status}${code === undefined ? '' : ` ${code}`}`)
  return answer.body
}

function tell(line) {
  console.log(line)
}
