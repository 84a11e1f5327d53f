/** A secret that one process rotates away signs nothing more in any process, a second later. */
import { stress, until } from '@countersign/testkit'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Received, type Receiver, startReceiver } from '../../feed/webhooks/receiver.js'
import type { ShippedServer } from '../../process/shipped-server.js'
import { done, newDatabase, removeReplicas, startReplica } from './replicas.js'

const PROMISE_MS = 1000

const ASK = { agent_id: 'agent:a', action: 'payment.refund' }

let receiver: Receiver
let onReceived = (_: Received): void => {}
let replicas: readonly [ShippedServer, ShippedServer]
beforeAll(async () => {
  receiver = await startReceiver((received, res) => {
    onReceived(received)
    res.end()
  })
  const [url, env] = [newDatabase(), { WEBHOOK_ALLOW_PRIVATE: '1' }]
  replicas = [await startReplica({ url, env }), await startReplica({ url, env })]
})
afterAll(async () => {
  await removeReplicas()
  await receiver.close()
})

function isSignedBy(secret: string, { headers, body }: Received): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  const at = new Date(Number(timestamp) * 1000)
  return String(signatures)
    .split(' ')
    .includes(new Webhook(secret).sign(String(id), at, body.toString()))
}

/** Makes events in both processes, one after the other, until it is told to stop. */
function eventsInBoth(): () => Promise<void> {
  let isOver = false
  const flow = replicas.map(async (server) => {
    while (!isOver) await done(server.call('POST', '/v1/decisions', { body: ASK }))
  })
  return async () => {
    isOver = true
    await Promise.all(flow)
  }
}

it('a rotation without grace, wherever it is made', async () => {
  const [first] = replicas
  const body = { url: receiver.url, events: ['decision.created'] }
  const { id, secret } = await done(first.call('POST', '/v1/webhooks', { body }))
  const secrets: string[] = [secret]
  const stop = eventsInBoth()
  /** When the newest secret had signed for the first time, and the one before for the last time. */
  const seen = { newest: Number.NaN, before: Number.NaN }
  onReceived = (one) => {
    if (isSignedBy(secrets[0] as string, one)) seen.newest = performance.now()
    else seen.before = performance.now()
  }
  await until('the first event', () => seen.newest > 0 || undefined)
  const times: number[] = []
  for (let round = 0; round < Math.max(4, stress.replica_rounds); round += 1) {
    const changer = replicas[round % 2] as ShippedServer
    const path = `/v1/webhooks/${id}/rotate-secret`
    const rotated = await done(changer.call('POST', path, { body: { grace_seconds: 0 } }))
    const answered = performance.now()
    Object.assign(seen, { newest: Number.NaN, before: answered })
    secrets.unshift(rotated.secret)
    await until('a delivery that is signed with the new secret', () => seen.newest > 0 || undefined, 3 * PROMISE_MS)
    times.push(seen.before - answered)
  }
  await stop()
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length
  console.log(
    `rotation: the old secret signs for ${mean.toFixed(0)} ms on average, ${Math.max(...times).toFixed(0)} ms at most`,
  )
  expect(Math.max(...times)).toBeLessThan(3 * PROMISE_MS)
})
