/** Sets the company of the demo up on a new server, and lets its agents work. */
import { setTimeout as pause } from 'node:timers/promises'
import { AGENTS, POLICIES, PURCHASED, SUSPENDED, TRAFFIC, WAITING } from './data.mjs'
import { random } from './random.mjs'

/** @typedef {import('../../packages/client/dist/index.js').Countersign} Client */

/** Some decisions a second for the first minute, then one now and then. */
const BUSY_MS = 60_000
const BUSY_PAUSE_MS = 250
const QUIET_PAUSE_MS = 3_000
/** Of actions that were permitted. */
const FAILED_SHARE = 0.08
const APPROVED_SHARE = 0.7

/**
 * Agents, policies, a budget near its limit, and two reviews that nobody of the demo answers.
 *
 * @param {Client} admin may do everything
 * @param {(apiKey: string) => Client} connect
 * @returns {Promise<{ agents: Client, reviewer: Client }>} who asks from now on, and who answers
 */
export async function setUp(admin, connect) {
  const asking = await admin.keys.create({ name: 'agents of the demo', scopes: ['decisions:write'] })
  const answering = await admin.keys.create({ name: 'Ada, reviewer', scopes: ['reviews:write', 'decisions:read'] })
  const agents = connect(asking.key)
  for (const policy of POLICIES) await admin.policies.create(/** @type {any} */ (policy))
  for (const agent of AGENTS) await admin.agents.create(agent)
  await admin.agents.suspend(SUSPENDED.id, { reason: SUSPENDED.reason })
  for (const [index, amount] of PURCHASED.entries()) {
    const { id } = await agents.authorize({
      agent_id: 'agent:buyer-3',
      action: 'purchase.create',
      resource: `invoice:${1000 + index}`,
      context: { amount, currency: 'EUR' },
    })
    await agents.decisions.confirm(id, { amount })
  }
  for (const question of WAITING) await agents.authorize(question)
  return { agents, reviewer: connect(answering.key) }
}

/**
 * Agents ask, act and report; Ada answers the reviews that come of it. Ends with the signal.
 *
 * @param {{ agents: Client, reviewer: Client }} company
 * @param {AbortSignal} signal
 */
export async function work(company, signal) {
  const began = performance.now()
  while (!signal.aborted) {
    void one(company, random.weighted(TRAFFIC)(random), signal).catch((error) => {
      if (!signal.aborted) process.stderr.write(`  Demo       ${error.message}\n`)
    })
    const pauseMs = performance.now() - began < BUSY_MS ? BUSY_PAUSE_MS : QUIET_PAUSE_MS
    await rest(pauseMs, signal)
  }
}

/**
 * @param {{ agents: Client, reviewer: Client }} company
 * @param {import('./data.mjs').Question} question
 * @param {AbortSignal} signal
 */
async function one({ agents, reviewer }, question, signal) {
  const { id, status } = await agents.authorize(question)
  if (status === 'awaiting_review') {
    await rest(random.number(4_000, 12_000), signal)
    if (signal.aborted) return
    if (Math.random() > APPROVED_SHARE) {
      await reviewer.decisions.decline(id, { comment: 'Not this one.' })
      return
    }
    await reviewer.decisions.approve(id, { comment: 'Looks right.' })
    await agents.decisions.claim(id, { holder: `job-${id}` })
  } else if (status !== 'authorized') return
  await rest(random.number(200, 3_000), signal)
  if (signal.aborted) return
  if (Math.random() < FAILED_SHARE) await agents.decisions.reject(id, { reason: 'The other side did not answer.' })
  else await agents.decisions.confirm(id)
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 */
function rest(ms, signal) {
  return pause(ms, undefined, { signal }).catch(() => {})
}
