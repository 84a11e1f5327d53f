/** Five questions under one policy, then a permit verified with the decision point gone. Exits 1 when an answer differs. */
import { Countersign, isPermitted } from '@countersign/client'
import { createPermitVerifier, PermitError, requestHash } from '@countersign/permit'
import { startDecisionPoint } from '../decision-point.mjs'

const agent_id = 'agent:support-7'
const action = 'payment.refund'
const resource = 'order:8812'

const policy = /** @type {const} */ ({
  name: 'refunds',
  agents: ['agent:support-*'],
  rules: [
    { action, effect: 'allow', conditions: { 'context.amount': { $gt: 0, $lte: 100 } } },
    {
      action,
      effect: 'review',
      conditions: { 'context.amount': { $gt: 0, $lte: 1000 } },
      reason: 'Refunds over 100 need a person.',
    },
    { action, effect: 'deny' },
  ],
})

const questions = [
  { asked: { action, context: { amount: 42.5 } }, expected: 'allow rule_matched' },
  { asked: { action, context: { amount: 400 } }, expected: 'review rule_matched' },
  { asked: { action, context: { amount: 1500 } }, expected: 'deny rule_matched' },
  { asked: { action, context: {} }, expected: 'deny condition_indeterminate' },
  { asked: { action: 'payment.create', context: { amount: 42.5 } }, expected: 'deny no_matching_policy' },
]

let differences = 0

const decisionPoint = await startDecisionPoint()
const { url, apiKey } = decisionPoint
let permitToken
let jwks
try {
  const client = new Countersign({ baseUrl: url, apiKey, agentId: agent_id })
  await client.policies.create(policy)

  row('action', 'amount', 'effect', 'reason code', 'may run')
  for (const { asked, expected } of questions) {
    const decision = await client.authorize({ ...asked, resource })
    const mayRun = isPermitted(decision, { agent_id, action: asked.action, resource })
    row(asked.action, asked.context.amount ?? '-', decision.effect, decision.reason_code, mayRun ? 'yes' : 'no')
    check(`${decision.effect} ${decision.reason_code}`, expected)
    check(mayRun, decision.effect === 'allow')
    check(decision.permit_token !== undefined, mayRun)
    permitToken ??= decision.permit_token
  }
  jwks = await client.jwks()
} finally {
  await decisionPoint.stop()
}

// What follows is another service's code: it has the permit and the public keys, and nobody to ask.
check(await isAnswering(), false)
const verifier = createPermitVerifier({ issuer: url, audience: url, jwks })
const request_hash = requestHash({ agent_id, action, resource, context: { amount: 42.5 } })
const attempts = [
  { what: 'for another order', expected: { action, resource: 'order:1' }, answer: 'resource_mismatch' },
  { what: 'for this refund', expected: { action, resource, agent_id, request_hash }, answer: 'verified' },
  { what: 'a second time', expected: { action, resource, agent_id, request_hash }, answer: 'already_seen' },
]
console.log('\nThe permit of the first answer, with the decision point stopped:')
for (const { what, expected, answer } of attempts) {
  const found = await verifier.verify(permitToken ?? '', expected).then(() => 'verified', refusal)
  console.log(`  ${what.padEnd(18)} ${found}`)
  check(found, answer)
}

console.log(differences === 0 ? '\nEvery answer is as expected.' : `\nAnswers that differ: ${differences}`)
process.exitCode = differences === 0 ? 0 : 1

/** @param {(string | number)[]} cells */
function row(...cells) {
  const widths = [16, 8, 8, 25, 7]
  console.log(
    cells
      .map((cell, i) => String(cell).padEnd(widths[i] ?? 0))
      .join('')
      .trimEnd(),
  )
}

/**
 * @param {unknown} found
 * @param {unknown} expected
 */
function check(found, expected) {
  if (found === expected) return
  differences += 1
  console.error(`  expected ${expected}, found ${found}`)
}

/** @param {unknown} error */
function refusal(error) {
  if (error instanceof PermitError) return error.code
  throw error
}

async function isAnswering() {
  return fetch(`${url}/livez`).then(
    () => true,
    () => false,
  )
}
