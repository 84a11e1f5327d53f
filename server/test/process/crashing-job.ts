/** A job that is killed in the middle of its action and started again, against the server as it is shipped. */
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Countersign } from '@countersign/client'
import { Child } from './child.js'
import type { ShippedServer } from './shipped-server.js'

const JOB = fileURLToPath(new URL('./paying-job.mjs', import.meta.url))

type Runs = 'at-least-once' | 'at-most-once'
type Said = { readonly began: string } | { readonly outcome: string }

/** What two runs of one job said, the first killed once its action had begun, and what is known of the money then. */
export async function runTwice(server: ShippedServer, runs: Runs) {
  const client = new Countersign({ baseUrl: server.url, apiKey: server.key })
  const budget = { limit: 100, unit: 'EUR', period: 'total' } as const
  await client.policies.create({ name: 'pay', rules: [{ action: 'pay.create', effect: 'allow' }], budget })

  const killed = new Child(process.execPath, [JOB, server.url, server.key, runs, 'hangs'], { ipc: true })
  const [began] = (await once(killed.process, 'message')) as [Said]
  await killed.kill()

  const again = new Child(process.execPath, [JOB, server.url, server.key, runs, 'ends'], { ipc: true })
  const said: Said[] = [began]
  again.process.on('message', (message) => said.push(message as Said))
  await again.end()

  const id = 'began' in began ? began.began : ''
  const { status } = await client.decisions.get(id)
  const [{ spent, reserved } = { spent: null, reserved: null }] = (await client.budgets.list().page()).data
  client.close()
  return { id, said, status, spent, reserved }
}
