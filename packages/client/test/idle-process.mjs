// Asks once, leaves the connection open, and has nothing else to do: the process must end by itself.
import { Countersign } from '@countersign/client'

const client = new Countersign()
const decision = await client.authorize({ action: 'payment.refund' })
console.log(decision.status)
