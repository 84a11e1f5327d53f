// Asks, waits for a review, leaves the connections open, and has nothing else to do: the process must end by itself.
import { Countersign } from '@countersign/client'

const client = new Countersign()
const decision = await client.authorize({ action: 'payment.refund' })
const { status } = await client.decisions.waitForReview(decision)
console.log(`${decision.status}, then ${status}`)
