/** Operators of several replicas who change the same at once: each is told honestly what became of it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { stress, until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { openMongoStore } from '#server/stores/mongodb/open'
import { newDirectory, type ShippedServer } from '../../process/shipped-server.js'
import { done, newDatabase, removeReplicas, startReplica, startThree, writeSharedPolicy } from './replicas.js'

afterEach(removeReplicas)

const statuses = (answers: readonly { readonly status: number }[]) => answers.map(({ status }) => status).sort()

it('of replicas that find the store empty one makes the first key', async () => {
  for (let round = 0; round < stress.replica_rounds; round++) {
    const url = newDatabase()
    const directories = [newDirectory(), newDirectory(), newDirectory()]
    const env = { COUNTERSIGN_BOOTSTRAP_KEY: '' }
    await Promise.all(directories.map((dataDir) => startReplica({ url, dataDir, env })))
    const left = directories.filter((dataDir) => existsSync(join(dataDir, 'bootstrap-key')))
    const store = await openMongoStore({ url })
    expect([left.length, (await store.keys.load()).length]).toEqual([1, 1])
    await store.close()
    await removeReplicas()
  }
})

const ROUNDS = 8 * stress.replica_rounds

describe('three replicas', () => {
  it('policies', async () => {
    const replicas = await startThree(newDatabase())
    const every = <T>(make: (server: ShippedServer, i: number) => Promise<T>) => Promise.all(replicas.map(make))
    const policy = (name: string) => ({ name, rules: [{ action: 'a.b', effect: 'allow' }] })
    for (let round = 0; round < stress.replica_rounds; round++) {
      // Different ones are all made, one set after the other.
      const made = await every((server, i) =>
        done(server.call('POST', '/v1/policies', { body: policy(`${round} ${i}`) })),
      )
      expect(new Set(made.map(({ id }) => id)).size).toBe(3)
      const same = await every((server) => server.call('POST', '/v1/policies', { body: policy(`${round}`) }))
      expect(statuses(same)).toEqual([201, 409, 409])
      expect(same.filter(({ status }) => status === 409).map(({ body }) => body.code)).toEqual([
        'policy_name_taken',
        'policy_name_taken',
      ])
      const id = same.find(({ status }) => status === 201)?.body.id
      const replaced = await every((server, i) =>
        server.call('PUT', `/v1/policies/${id}`, {
          body: { ...policy(`${round}`), description: `by ${i}` },
          headers: { 'If-Match': '"1"' },
        }),
      )
      expect(statuses(replaced)).toEqual([200, 412, 412])
      const anyhow = await every((server) => server.call('PUT', `/v1/policies/${id}`, { body: policy(`${round}`) }))
      expect(anyhow.map(({ body }) => body.revision).sort()).toEqual([3, 4, 5])
      expect(statuses(await every((server) => server.call('DELETE', `/v1/policies/${id}`)))).toEqual([204, 404, 404])
    }
  })

  it('agents and keys', async () => {
    const replicas = await startThree(newDatabase())
    const [first] = replicas
    const every = <T>(make: (server: ShippedServer, i: number) => Promise<T>) => Promise.all(replicas.map(make))
    for (let round = 0; round < stress.replica_rounds; round++) {
      const id = `agent:${round}`
      const registered = await every((server) => server.call('POST', '/v1/agents', { body: { id } }))
      expect(statuses(registered)).toEqual([201, 409, 409])
      await every((server) => done(server.call('PUT', `/v1/agents/${id}`, { body: { name: 'n' } })))
      const reasons = await every((server, i) =>
        done(server.call('POST', `/v1/agents/${id}/suspend`, { body: { reason: `${i}` } })),
      )
      // The first suspension stays.
      expect(new Set(reasons.map(({ suspended }) => suspended.reason)).size).toBe(1)

      const key = await done(first.call('POST', '/v1/keys', { body: { name: 'k', scopes: ['keys:read'] } }))
      const rotations = await every((server) => server.call('POST', `/v1/keys/${key.id}/rotate`, { body: {} }))
      expect(statuses(rotations)).toEqual([200, 200, 200])
      for (const { body } of rotations)
        for (const server of replicas)
          await until('every text to work', async () =>
            (await server.call('GET', '/v1/keys/self', { key: body.key })).status === 200 ? true : undefined,
          )
      expect(statuses(await every((server) => server.call('DELETE', `/v1/keys/${key.id}`)))).toEqual([204, 204, 204])
    }
  })

  it('the last two keys that may do everything: one stays', async () => {
    const [one, other] = await startThree(newDatabase())
    const selfAt = (server: ShippedServer, key: string) => server.call('GET', '/v1/keys/self', { key })
    let admin = one.key
    const codes: string[] = []
    for (let round = 0; round < stress.replica_rounds; round++) {
      const { id } = await done(selfAt(one, admin))
      const second = await done(one.call('POST', '/v1/keys', { key: admin, body: { name: 'second', scopes: ['*'] } }))
      await until('both to be known', async () => ((await selfAt(other, second.key)).status === 200 ? true : undefined))
      const answers = await Promise.all([
        one.call('DELETE', `/v1/keys/${id}`, { key: second.key }),
        other.call('DELETE', `/v1/keys/${second.id}`, { key: admin }),
      ])
      codes.push(answers.map(({ status, body }) => body.code ?? status).join())
      const live: string[] = []
      for (const key of [admin, second.key]) {
        const isLive = async () =>
          (await Promise.all([one, other].map((server) => selfAt(server, key)))).map((a) => a.status)
        const [status] = await until('one state at both', async () => {
          const found = await isLive()
          return found[0] === found[1] ? found : undefined
        })
        if (status === 200) live.push(key)
      }
      expect(live.length, codes.at(-1)).toBe(1)
      admin = live[0] as string
    }
    console.log(`two revocations at once: ${codes.join(' | ')}`)
  })

  it('a call with one idempotency key happens once, and each is shown what came of it', async () => {
    const replicas = await startThree(newDatabase())
    for (let round = 0; round < stress.replica_rounds; round++) {
      const headers = { 'Idempotency-Key': `once-${round}` }
      const same = (path: string, body: object) =>
        Promise.all(replicas.map((server) => done(server.call('POST', path, { body, headers }))))
      const keys = await same('/v1/keys', { name: `key ${round}`, scopes: ['keys:read'] })
      const policies = await same('/v1/policies', { name: `${round}`, rules: [{ action: 'a', effect: 'allow' }] })
      const decisions = await same('/v1/decisions', { agent_id: 'a', action: 'a', holder: 'h' })
      for (const made of [keys, policies, decisions]) expect(new Set(made.map(({ id }) => id)).size).toBe(1)
      expect(keys.filter(({ key }) => key !== undefined)).toHaveLength(1)
    }
  })

  it('a call is not refused for what it has reserved itself at another', async () => {
    const replicas = await startThree(newDatabase())
    const policy = {
      name: 'room for one',
      rules: [
        { action: 'pay.small', effect: 'allow' },
        { action: 'pay.big', effect: 'review' },
      ],
      budget: { limit: 1000, unit: 'EUR', period: 'total', scope: 'agent' },
    }
    await writeSharedPolicy(replicas, policy)
    const request = (action: string, round: number, amount = 600) => ({
      body: { agent_id: `agent:${round}.${action}`, action, context: { amount } },
    })
    for (let round = 0; round < ROUNDS; round++)
      for (const action of ['pay.small', 'pay.big'])
        await done(replicas[0].call('POST', '/v1/agents', { body: { id: `agent:${round}.${action}` } }))
    for (const server of replicas)
      await until('all to know the agents', async () =>
        (await server.call('POST', '/v1/decisions', request('pay.big', ROUNDS - 1, 1))).body.effect === 'review'
          ? true
          : undefined,
      )
    for (let round = 0; round < ROUNDS; round++) {
      const headers = { 'Idempotency-Key': `call-${round}` }
      const every = (path: string, call: object) =>
        Promise.all(replicas.map((server) => server.call('POST', path, call)))
      const decided = await every('/v1/decisions', { ...request('pay.small', round), headers })
      expect(decided.map(({ body }) => body.advice ?? body.effect)).toEqual(['allow', 'allow', 'allow'])
      expect(new Set(decided.map(({ body }) => body.id)).size).toBe(1)

      const review = await done(replicas[0].call('POST', '/v1/decisions', request('pay.big', round)))
      const isNamed = round % 2 === 0
      const approved = await every(`/v1/decisions/${review.id}/approve`, { body: {}, ...(isNamed && { headers }) })
      const other = isNamed ? 'approved' : 'invalid_transition'
      expect(approved.map(({ body }) => body.code ?? body.status).sort()).toEqual(['approved', other, other])
    }
  })
})
