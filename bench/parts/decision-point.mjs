/**
 * A decision point that costs next to nothing: allows whatever is asked, and takes whatever is told. Benches of guards start it
 * as a process of its own: `fork` this file, and it tells its `port`.
 */
import { createServer } from 'node:http'

const asked = new Map()

const server = createServer(async (req, res) => {
  const chunks = []
  for await (const chunk of req) chunks.push(chunk)
  const [, settled] = /decisions\/(\w+)\//.exec(req.url) ?? []
  const id = settled ?? `dec_${String(asked.size + 1).padStart(26, '0')}`
  if (settled === undefined) asked.set(id, JSON.parse(Buffer.concat(chunks)))
  const { agent_id, action, resource = null } = asked.get(id)
  res.setHeader('content-type', 'application/json')
  res.end(
    JSON.stringify({
      id,
      effect: 'allow',
      agent_id,
      action,
      resource,
      status: settled === undefined ? 'authorized' : 'confirmed',
      reason: null,
      reason_code: 'rule_matched',
      policy_id: 'pol_1',
      budgets: [],
      review: null,
      outcome: null,
      evaluated_at: new Date().toISOString(),
      expires_at: new Date(Date.now() + 300_000).toISOString(),
      advice: null,
      permit_token: [100, 600, 86].map((length) => 'x'.repeat(length)).join('.'),
    }),
  )
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
