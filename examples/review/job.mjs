/**
 * A job that refunds one order, as a process of its own. It may be killed and started again, or twice by mistake: it asks
 * the same question each time, and runs the refund only with a permit.
 *
 * The environment says what to do: ORDER, AMOUNT, JOB (the name of this job), BANK (a file that stands for the bank), and
 * COUNTERSIGN_URL and COUNTERSIGN_API_KEY, which the client reads. Tells its parent `{asked}`, then `{ended}`.
 */
import { appendFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, Countersign, NotPermittedError } from '@countersign/client'

const { ORDER, AMOUNT, JOB, BANK } = process.env
/** Long enough that another job that runs the same order would do so meanwhile. */
const BANK_TAKES_MS = 1000
const amount = Number(AMOUNT)
const client = new Countersign({ agentId: 'agent:support-7' })
process.once('disconnect', () => process.exit())

try {
  const decision = await client.authorize({
    action: 'payment.refund',
    resource: ORDER,
    context: { amount },
    idempotencyKey: `refund/${ORDER}`,
    holder: JOB,
  })
  process.send({ asked: decision.id })
  const permitted = await client.decisions.waitForReview(decision)
  await pause(BANK_TAKES_MS)
  appendFileSync(BANK, `${ORDER} ${amount.toFixed(2)}\n`)
  await client.decisions.confirm(permitted.id, { amount })
  process.send({ ended: 'refunded' })
} catch (error) {
  if (NotPermittedError.isInstance(error)) process.send({ ended: error.reason })
  // Asking again is refused already when another job runs it.
  else if (ApiError.isInstance(error) && error.code === 'already_claimed') process.send({ ended: error.code })
  else throw error
}
process.disconnect()
