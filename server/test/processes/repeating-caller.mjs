/**
 * Makes one call without an idempotency key each time a line comes, as `go` or `hold`, and prints what became of it. A held action
 * prints `begun` and ends with the line `end`.
 */
import { createInterface } from 'node:readline'
import { Countersign } from '@countersign/client'

const [baseUrl, apiKey, action, agentId, holder] = process.argv.slice(2)
const client = new Countersign({ baseUrl, apiKey, agentId, timeoutMs: 30_000, connectTimeoutMs: 30_000 })
const question = { action, resource: 'order:8812', context: { currency: 'EUR', amount: 40 } }
let end = () => undefined

async function call(isHeld) {
  const ended = isHeld ? new Promise((resolve) => (end = resolve)) : undefined
  const run = () => {
    console.log('begun')
    return ended
  }
  const outcome = await client.guard(question, run, { holder }).then(
    () => 'ran',
    ({ reason }) => reason,
  )
  console.log(outcome)
}

for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'end') end()
  else void call(line === 'hold')
}
