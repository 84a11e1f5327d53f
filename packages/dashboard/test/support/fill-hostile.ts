/** A server on which every text that a user or agent can choose is hostile. */
import { succeed } from '../../../../server/test/api/refunds.js'
import type { Answer, RunningServer } from '../../../../server/test/running-server.js'
import { type Filled, NOBODY } from './fill.js'
import { NAUGHTY, XSS } from './hostile-strings.js'

const AGENT = 'agent:hostile'
const CHUNK = 60

/** Cuts a text to the longest valid name. */
const nameOf = (text: string, i: number) => `${i} ${text}`.slice(0, 120)

export async function fillHostile(server: RunningServer): Promise<Filled> {
  const call = (path: string, body: object) => server.call('POST', path, { body })
  const must = (path: string, body: object) => succeed(call(path, body))
  const first = XSS[0] as string
  await must('/v1/agents', {
    id: AGENT,
    name: first,
    description: XSS[1],
    metadata: { text: XSS[2], [`key ${XSS[3]}`.replaceAll('.', '')]: 1 },
  })

  const policies: { id: string }[] = []
  for (const [i, text] of XSS.entries())
    policies.push(
      await must('/v1/policies', {
        name: nameOf(text, i),
        description: text,
        priority: -i,
        rules: [
          {
            action: `act${i}`,
            effect: i % 2 === 0 ? 'deny' : 'review',
            reason: text,
            conditions: { 'context.s0': { $ne: text } },
          },
        ],
        ...(i % 5 === 0 && { budget: { limit: 10, unit: 'EUR', period: 'daily' } }),
      }),
    )

  // Every string in a context, as a value and as a key.
  const decided: Answer['body'][] = []
  const all = [...NAUGHTY, ...XSS]
  for (let at = 0; at < all.length; at += CHUNK) {
    const strings = all.slice(at, at + CHUNK)
    const context = Object.fromEntries(strings.map((text, i) => [`s${i}`, text]))
    decided.push(await must('/v1/decisions', { agent_id: AGENT, action: `act${at / CHUNK}`, context }))
  }
  // As resources, where they are valid.
  const ofResource = (text: string, i: number) =>
    call('/v1/decisions', { agent_id: AGENT, action: `act${i % XSS.length}`, resource: `x:${text}`.slice(0, 200) })
  let resources = 0
  for (let at = 0; at < all.length; at += CHUNK) {
    const answers = await Promise.all(all.slice(at, at + CHUNK).map((text, i) => ofResource(text, at + i)))
    resources += answers.filter(({ status }) => status === 200).length
  }
  if (resources < 300) throw new Error(`Only ${resources} of the strings may be a resource.`)

  const review = decided.find(({ status }) => status === 'awaiting_review')
  const denied = decided.find(({ status }) => status === 'denied')
  await must('/v1/agents/agent:rogue/suspend', { reason: XSS[4] })
  for (const [i, text] of XSS.slice(0, 10).entries())
    await must('/v1/keys', { name: nameOf(text, i), scopes: ['decisions:read'] })
  const webhook = await must('/v1/webhooks', {
    url: `${NOBODY}/${encodeURIComponent(first)}?x=%22%3E%3Cscript%3E`,
    description: XSS[6],
  })
  const declined = decided.findLast(({ status }) => status === 'awaiting_review')
  await must(`/v1/decisions/${declined.id}/decline`, { comment: XSS[5] })
  return {
    policyId: (policies[0] as { id: string }).id,
    deniedId: denied.id,
    reviewId: review.id,
    confirmedId: declined.id,
    webhookId: webhook.id,
    agentId: AGENT,
    suspendedId: 'agent:rogue',
  }
}
