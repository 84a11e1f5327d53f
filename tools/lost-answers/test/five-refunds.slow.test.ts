/** Five refunds of 100 at a budget of 100, at a bank that books and loses its answer: one of them is begun. */
import { Countersign, DeniedError } from '@countersign/client'
import { expect, it } from 'vitest'
import { useDecisionPoint } from '../../../server/test/enforcement/running-point.js'
import { actHeard } from './act-heard.js'
import type { Fault } from './fault.js'
import { LIBRARIES, type Library } from './libraries.js'

const PATIENCE_MS = 20_000
const point = useDecisionPoint()

function libraryOf(name: string): Library {
  const found = LIBRARIES.find((library) => library.name === name)
  if (found === undefined) throw new Error(`there is no library ${name}`)
  return found
}

it.concurrent.each<[string, Fault]>([
  ['stripe', 'reset'],
  ['pg', 'closed'],
  ['pg', 'hang'],
  ['ioredis', 'closed'],
  ['ioredis', 'hang'],
  ['openai', 'hang'],
  ['axios', 'cut'],
])('%s, %s: one is admitted, the others are denied, and its 100 stay reserved', async (name, fault) => {
  const library = libraryOf(name)
  const client = new Countersign({
    baseUrl: point().url,
    apiKey: point().apiKey,
    timeoutMs: PATIENCE_MS,
    connectTimeoutMs: PATIENCE_MS,
  })
  const bank = await library.open(fault)
  const action = `refund-${crypto.randomUUID()}.pay`
  const policy = await client.policies.create({
    name: action,
    rules: [{ action, effect: 'allow' }],
    budget: { limit: 100, unit: 'EUR', period: 'total' },
  })
  const refund = client.protect(() => actHeard(library, bank), {
    action,
    agent_id: 'agent:desk-1',
    context: () => ({ amount: 100 }),
    settleTimeoutMs: PATIENCE_MS,
  })
  const ends: string[] = []
  for (let refunds = 0; refunds < 5; refunds += 1) {
    const error: unknown = await refund().then(
      () => null,
      (thrown: unknown) => thrown,
    )
    ends.push(DeniedError.isInstance(error) ? error.reason : 'begun')
  }
  expect(bank.heard()).toBeGreaterThan(0)
  expect(ends).toEqual(['begun', 'denied', 'denied', 'denied', 'denied'])
  const [account] = (await client.policies.budget(policy.id).page()).data
  expect(account).toMatchObject({ spent: 0, reserved: 100 })
  await bank.close()
  client.close()
})
