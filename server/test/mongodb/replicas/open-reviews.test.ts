/** How many decisions of an agent and of a key may wait for a person: as many as are set, at however many servers they ask. */
import { stress, until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import type { Answer } from '../../process/call.js'
import type { ShippedServer } from '../../process/shipped-server.js'
import { done, newDatabase, removeReplicas, startReplica } from './replicas.js'

afterEach(removeReplicas)

const PER_AGENT = 10
const PER_KEY = 25
const ASKED_AT_ONCE = 20
const env = { MAX_OPEN_REVIEWS: `${PER_AGENT}`, MAX_OPEN_REVIEWS_PER_KEY: `${PER_KEY}` }

interface Asked {
  readonly id: string
  readonly effect: string
  readonly reason_code: string
}

async function startServers(): Promise<readonly ShippedServer[]> {
  const url = newDatabase()
  const servers = [await startReplica({ url, env }), await startReplica({ url, env }), await startReplica({ url, env })]
  const rules = [{ action: 'a', effect: 'review' }]
  const { id } = await done(
    (servers[0] as ShippedServer).call('POST', '/v1/policies', { body: { name: 'review', rules } }),
  )
  await allAnswer(servers, `/v1/policies/${id}`)
  return servers
}

async function allAnswer(servers: readonly ShippedServer[], path: string, key?: string): Promise<void> {
  for (const server of servers)
    await until(`${path} everywhere`, async () =>
      (await server.call('GET', path, { ...(key !== undefined && { key }) })).status === 200 ? true : undefined,
    )
}

/** Until it is answered: a machine that is far too busy says 503 now and then. */
function answered(call: () => Promise<Answer>): Promise<Answer['body']> {
  return until('an answer', async () => {
    const answer = await call()
    return answer.status === 503 ? undefined : done(Promise.resolve(answer))
  })
}

let calls = 0

/** The same call, however often it is made. */
function post(server: ShippedServer, path: string, key: string, body: object): Promise<Answer['body']> {
  const headers = { 'Idempotency-Key': `call-${calls++}` }
  return answered(() => server.call('POST', path, { key, headers, body }))
}

const ask = (server: ShippedServer, agent_id: string, key: string): Promise<Asked> =>
  post(server, '/v1/decisions', key, { agent_id, action: 'a' })

/** Asks this number of times at each server, all at once. */
async function race(
  servers: readonly ShippedServer[],
  times: number,
  key: string,
  agentOf: (i: number) => string,
): Promise<{ readonly reviews: readonly Asked[]; readonly denied: number }> {
  const answers = await Promise.all(
    servers.flatMap((server, i) => [...Array(times).keys()].map((j) => ask(server, agentOf(i * times + j), key))),
  )
  const reviews = answers.filter(({ effect }) => effect === 'review')
  const denied = answers.filter(({ reason_code }) => reason_code === 'too_many_reviews').length
  expect(reviews.length + denied).toBe(answers.length)
  return { reviews, denied }
}

it('three servers race for the last review slots of an agent and of a key', async () => {
  const servers = await startServers()
  const [first, second] = servers as readonly [ShippedServer, ShippedServer]
  for (let round = 0; round < stress.replica_rounds; round++) {
    const { key } = await answered(() =>
      first.call('POST', '/v1/keys', { body: { name: 'k', scopes: ['decisions:write'] } }),
    )
    await allAnswer(servers, '/v1/keys/self', key)
    const agent = `agent:${round}`
    const { reviews } = await race(servers, ASKED_AT_ONCE, key, () => agent)
    expect(reviews).toHaveLength(PER_AGENT)
    for (const server of servers) {
      const waiting = await answered(() =>
        server.call('GET', `/v1/decisions?status=awaiting_review&agent_id=${agent}&limit=200`),
      )
      expect(waiting.data).toHaveLength(PER_AGENT)
    }

    // What is decided at one server is free at all.
    for (const { id } of reviews.slice(0, 4))
      await post(second, `/v1/decisions/${id}/${round % 2 === 0 ? 'decline' : 'approve'}`, second.key, {})
    expect((await race(servers, 4, key, () => agent)).reviews).toHaveLength(4)

    const others = await race(servers, ASKED_AT_ONCE, key, (i) => `${agent}:${i}`)
    expect(others.reviews).toHaveLength(PER_KEY - PER_AGENT)
  }
})

it('a server that dies while it opens reviews lets nobody open more', async () => {
  const servers = await startServers()
  const dies = servers[2] as ShippedServer
  const asking = servers.map(async (server) => {
    const asked = await Promise.allSettled(
      [...Array(ASKED_AT_ONCE).keys()].map(async (i) => {
        if (server === dies && i === ASKED_AT_ONCE / 2) dies.process.kill('SIGKILL')
        return ask(server, 'agent:a', server.key)
      }),
    )
    return asked.flatMap((one) => (one.status === 'fulfilled' && one.value.effect === 'review' ? [one.value.id] : []))
  })
  const acknowledged = (await Promise.all(asking)).flat()
  const [survivor] = servers as readonly [ShippedServer]
  const waiting = await answered(() => survivor.call('GET', '/v1/decisions?status=awaiting_review&limit=200'))
  expect(waiting.data.length).toBeLessThanOrEqual(PER_AGENT)
  expect(waiting.data.map(({ id }: Asked) => id)).toEqual(expect.arrayContaining(acknowledged))
})
