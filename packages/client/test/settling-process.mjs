// Guards an action whose settlement does not get through at first, and then has nothing else to do. Told to, it flushes and
// exits by itself.
import { Countersign } from '@countersign/client'

const client = new Countersign({ maxRetries: 0 })
const onEvent = ({ type, why }) => console.log(why ?? type)
const request = { action: 'payment.refund' }
await client.guard(request, () => console.log('ran'), { onEvent, settleTimeoutMs: 200 })
console.log('done')
if (process.argv[2] === 'flush') {
  console.log(await client.flush())
  process.exit(0)
}
