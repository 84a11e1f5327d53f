/**
 * A job that pays once, guarded, with the same key and holder in each of its runs. It says when the action has begun; then the
 * action never ends where it is told to hang, so that the test can kill the process in the middle of it.
 */
import { Countersign } from '@countersign/client'

const [url, key, runs, ending] = process.argv.slice(2)
const client = new Countersign({ baseUrl: url, apiKey: key })
const request = { agent_id: 'agent:a', action: 'pay.create', context: { amount: 60 } }
const pay = async (_asked, { decision }) => {
  // What a payment provider is given as its idempotency key.
  process.send({ began: decision.id })
  if (ending === 'hangs') await new Promise(() => {})
  return 'paid'
}
const outcome = await client
  .guard(request, pay, { runs, idempotencyKey: 'invoice-17', holder: 'job-17' })
  .catch(({ name, reason }) => `${name} ${reason}`)
process.send({ outcome }, () => process.disconnect())
