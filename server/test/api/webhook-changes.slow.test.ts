/** From the answer to a change of a webhook on, nothing begins that is not as the change says. Seen by receivers. */
import type { ServerResponse } from 'node:http'
import { until } from '@countersign/testkit'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Received, type Receiver, startReceiver } from '../feed/webhooks/receiver.js'
import { type RunningServer, runServer } from '../running-server.js'
import { FastClock } from './fast-clock.js'
import { decide, succeed } from './refunds.js'

/** This many deliveries are sent at a time. */
const CONNECTIONS = 4
const EVENTS = 30

/** Once it stands still, nobody looks for changes any more: a change has to tell of itself. */
class StoppableClock extends FastClock {
  #stoppedAt: Date | null = null

  stop(): void {
    this.#stoppedAt = this.now()
  }

  goOn(): void {
    this.#stoppedAt = null
  }

  override now(): Date {
    return this.#stoppedAt ?? super.now()
  }
}

let clock: StoppableClock
let server: RunningServer
let old: Receiver
/** Of the old receiver: the answers that it has not given. */
let held: ServerResponse[] | null
beforeEach(async () => {
  held = []
  old = await startReceiver((_, res) => void (held === null ? res.end() : held.push(res)))
  const settings = { rateLimitPerSecond: 0, webhookAllowPrivate: true }
  clock = new StoppableClock()
  server = await runServer({ settings, clock })
})
afterEach(async () => {
  await server.stop()
  await old.close()
})

const create = (url: string) =>
  succeed(server.call('POST', '/v1/webhooks', { body: { url, events: ['decision.created'] } }))
const post = (id: string, verb: string, body?: object) => server.call('POST', `/v1/webhooks/${id}/${verb}`, { body })
const test = (id: string) => succeed(post(id, 'test'))

/** A webhook of which some deliveries are being sent, and many more are ready to be. */
async function busyWebhook() {
  const webhook = await create(old.url)
  for (let i = 0; i < EVENTS; i++) await test(webhook.id)
  await until('deliveries that wait for their answers', () => old.received.length === CONNECTIONS || undefined)
  return webhook
}

/** The old receiver answers what it holds, and from now on everything at once. */
function release(): void {
  const answers = held ?? []
  held = null
  for (const res of answers) res.end()
}

/** Resolves when another webhook got what was sent behind everything else. */
async function othersAreServed(): Promise<void> {
  const other = await startReceiver()
  const { id } = await create(other.url)
  await test(id)
  await until('a delivery of another webhook', () => other.received.length > 0 || undefined)
  await other.close()
}

function isSignedBy(secret: string, { headers, body }: Received): boolean {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers
  const at = new Date(Number(timestamp) * 1000)
  return String(signatures)
    .split(' ')
    .includes(new Webhook(secret).sign(String(id), at, body.toString()))
}

describe('from its answer on', () => {
  it('a rotation without grace holds: nothing more is signed with the old secret', async () => {
    const { id, secret } = await busyWebhook()
    clock.stop()
    const { secret: fresh } = await succeed(post(id, 'rotate-secret', { grace_seconds: 0 }))
    release()
    await until('a delivery that begins', () => old.received.length > CONNECTIONS || undefined)
    clock.goOn()
    await until('all deliveries', () => old.received.length === EVENTS || undefined)
    const signers = old.received.map((one) => [isSignedBy(secret, one), isSignedBy(fresh, one)])
    expect(signers.slice(0, CONNECTIONS)).toEqual(Array(CONNECTIONS).fill([true, false]))
    expect(signers.slice(CONNECTIONS)).toEqual(Array(EVENTS - CONNECTIONS).fill([false, true]))
  })

  it('another URL holds: nothing more begins at the old one', async () => {
    const { id } = await busyWebhook()
    clock.stop()
    const next = await startReceiver()
    // Twice in a row: the second one has to be looked for by itself.
    for (const { url } of [old, next])
      await succeed(server.call('PUT', `/v1/webhooks/${id}`, { body: { url, events: ['decision.created'] } }))
    release()
    await until('a delivery that begins', () => next.received.length > 0 || undefined)
    clock.goOn()
    await until('the rest', () => next.received.length === EVENTS - CONNECTIONS || undefined)
    expect(old.received).toHaveLength(CONNECTIONS)
    await next.close()
  })

  it('fewer events are asked for: nothing more of the others begins, and the log says so', async () => {
    const { id } = await create(old.url)
    for (let i = 0; i < EVENTS; i++) await decide(server, { agent_id: 'agent:a', action: 'pay.create' })
    await until('deliveries that wait for their answers', () => old.received.length === CONNECTIONS || undefined)
    const listed = async (status: string) =>
      (await succeed(server.call('GET', `/v1/webhooks/${id}/deliveries?limit=200&status=${status}`))).data
    await until('all deliveries', async () => (await listed('pending')).length === EVENTS || undefined)
    const body = { url: old.url, events: ['policy.created'] }
    await succeed(server.call('PUT', `/v1/webhooks/${id}`, { body }))
    release()
    await until('the end of all', async () => (await listed('pending')).length === 0 || undefined)
    expect(await listed('delivered')).toHaveLength(CONNECTIONS)
    const failed = await listed('failed')
    expect(failed).toHaveLength(EVENTS - CONNECTIONS)
    const error = 'It was not sent: the webhook no longer receives events of this type.'
    for (const { attempts, next_attempt_at } of failed)
      expect([attempts, next_attempt_at]).toMatchObject([[{ status: null, error }], null])
    const again = await succeed(server.call('POST', `/v1/webhooks/${id}/deliveries/${failed[0].id}/retry`))
    await until('the retry', async () => {
      const found = (await listed('failed')).find((one: { id: string }) => one.id === again.id)
      return found?.attempt_count === 2 || undefined
    })
    await test(id)
    await until('what is asked for', () => old.received.length > CONNECTIONS || undefined)
    const types = old.received.map(({ body: sent }) => JSON.parse(sent.toString()).type)
    expect(types).toEqual([...Array(CONNECTIONS).fill('decision.created'), 'webhook.test'])
  })

  it('a webhook is disabled: nothing more begins', async () => {
    const { id } = await busyWebhook()
    const body = { url: old.url, events: ['decision.created'], enabled: false }
    await succeed(server.call('PUT', `/v1/webhooks/${id}`, { body }))
    release()
    await othersAreServed()
    expect(old.received).toHaveLength(CONNECTIONS)
  })

  it('a webhook is deleted: nothing more begins', async () => {
    const { id } = await busyWebhook()
    expect((await server.call('DELETE', `/v1/webhooks/${id}`)).status).toBe(204)
    release()
    await othersAreServed()
    expect(old.received).toHaveLength(CONNECTIONS)
  })
})
