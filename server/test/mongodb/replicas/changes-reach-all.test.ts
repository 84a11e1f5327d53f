/** What one replica changes counts in all: policies and suspensions within 2 s, keys within 5 s. */
import { stress, until } from '@countersign/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { sendRaw } from '../../api/browser-session.js'
import type { Answer } from '../../process/call.js'
import { CHOSEN_KEY, type ShippedServer } from '../../process/shipped-server.js'
import { done, newDatabase, removeReplicas, startThree, type Three } from './replicas.js'

let replicas: Three
beforeAll(async () => {
  replicas = await startThree(newDatabase())
})
afterAll(removeReplicas)

const ASK = { agent_id: 'agent:a', action: 'payment.refund' }
const post = (server: ShippedServer, path: string, body: object, key: string = CHOSEN_KEY) =>
  server.call('POST', path, { body, key })
const policy = (effect: string) => ({ name: 'flip', rules: [{ action: 'payment.refund', effect }] })

/** How long it takes until every replica shows it, in milliseconds; fails after three times the promise. */
async function spread(promiseMs: number, isThere: (server: ShippedServer) => Promise<boolean>): Promise<number> {
  const started = performance.now()
  const ends = await Promise.all(
    replicas.map(async (server) => {
      await until('the change', async () => ((await isThere(server)) ? true : undefined), 3 * promiseMs)
      return performance.now() - started
    }),
  )
  return Math.max(...ends)
}

function print(what: string, times: readonly number[]): void {
  const [most, mean] = [Math.max(...times), times.reduce((sum, time) => sum + time, 0) / times.length]
  console.log(`${what}: seen by all after ${mean.toFixed(0)} ms on average, ${most.toFixed(0)} ms at most`)
}

it('a policy', async () => {
  const { id } = await done(post(replicas[0], '/v1/policies', policy('allow')))
  const times: number[] = []
  for (let round = 0; round < stress.replica_rounds; round++) {
    const effect = round % 2 === 0 ? 'deny' : 'allow'
    const writer = replicas[round % 3] as ShippedServer
    await done(writer.call('PUT', `/v1/policies/${id}`, { body: policy(effect) }))
    // Where it was written it counts at once.
    expect((await done(post(writer, '/v1/decisions', ASK))).effect).toBe(effect)
    const shows = (answer: Answer) => answer.body.effect === effect
    times.push(await spread(2000, async (server) => shows(await post(server, '/v1/decisions', ASK))))
  }
  print('policy', times)
  await done(replicas[0].call('DELETE', `/v1/policies/${id}`).then((answer) => ({ ...answer, body: null })))
  await spread(2000, async (server) => (await server.call('GET', `/v1/policies/${id}`)).status === 404)
})

it('a suspension and its end', async () => {
  await done(post(replicas[0], '/v1/policies', policy('allow')))
  const times: number[] = []
  for (let round = 0; round < stress.replica_rounds; round++) {
    const isSuspended = round % 2 === 0
    const writer = replicas[round % 3] as ShippedServer
    await done(post(writer, `/v1/agents/agent:a/${isSuspended ? 'suspend' : 'resume'}`, {}))
    times.push(
      await spread(2000, async (server) => {
        const { reason_code } = (await post(server, '/v1/decisions', ASK)).body
        return reason_code === (isSuspended ? 'agent_suspended' : 'rule_matched')
      }),
    )
  }
  print('suspension', times)
})

it('a new key, its rotation and its revocation', async () => {
  const times: number[] = []
  for (let round = 0; round < stress.replica_rounds; round++) {
    const writer = replicas[round % 3] as ShippedServer
    const other = replicas[(round + 1) % 3] as ShippedServer
    const works = (key: string, status: number) => async (server: ShippedServer) =>
      (await server.call('GET', '/v1/keys/self', { key })).status === status
    const made = await done(post(writer, '/v1/keys', { name: `key ${round}`, scopes: ['decisions:write'] }))
    await spread(5000, works(made.key, 200))
    const rotated = await done(post(other, `/v1/keys/${made.id}/rotate`, { grace_seconds: 0 }))
    await spread(5000, works(rotated.key, 200))
    await spread(5000, works(made.key, 401))
    expect((await other.call('DELETE', `/v1/keys/${made.id}`)).status).toBe(204)
    expect(await works(rotated.key, 401)(other)).toBe(true)
    times.push(await spread(5000, works(rotated.key, 401)))
  }
  print('key revocation', times)
})

it('a session of the dashboard, and its end', async () => {
  // One proxy in front of all: a browser sees one origin.
  const page = { Host: 'authz.example', Origin: 'https://authz.example', 'Sec-Fetch-Site': 'same-origin' }
  const [begins, ends]: [number[], number[]] = [[], []]
  for (let round = 0; round < stress.replica_rounds; round++) {
    const writer = replicas[round % 3] as ShippedServer
    const started = await sendRaw(writer, 'POST', '/dashboard/session', { body: { key: CHOSEN_KEY }, headers: page })
    expect(started.status).toBe(201)
    const Cookie = String(started.headers['set-cookie']).split(';', 1)[0]
    const answers = (status: number) => async (server: ShippedServer) =>
      (await sendRaw(server, 'GET', '/dashboard/v1/keys/self', { headers: { ...page, Cookie } })).status === status
    begins.push(await spread(5000, answers(200)))
    const headers = { ...page, Cookie, 'X-CSRF-Token': started.body.csrf_token }
    const other = replicas[(round + 1) % 3] as ShippedServer
    expect((await sendRaw(other, 'DELETE', '/dashboard/session', { headers })).status).toBe(204)
    expect(await answers(401)(other)).toBe(true)
    ends.push(await spread(5000, answers(401)))
  }
  print('session', begins)
  print('end of a session', ends)
})
