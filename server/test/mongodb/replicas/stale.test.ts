/** A server that cannot tell what others have changed answers nothing by what it knew, also what it was asked before. */
import { setTimeout as sleep } from 'node:timers/promises'
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { RawConnection } from '../../process/raw-connection.js'
import type { ShippedServer } from '../../process/shipped-server.js'
import { openRelay, type Relay } from '../../stores/mongodb/relay.js'
import { done, newDatabase, removeReplicas, startReplica } from './replicas.js'

const relays: Relay[] = []
afterEach(async () => {
  await removeReplicas()
  for (const relay of relays.splice(0)) await relay.close()
})

const PROMISE_MS = 2000
const ASK = { agent_id: 'agent:a', action: 'a' }
const BODY = JSON.stringify({ name: 'planted', scopes: ['*'] })

async function makePolicy(server: ShippedServer): Promise<void> {
  await done(server.call('POST', '/v1/policies', { body: { name: 'all', rules: [{ action: 'a', effect: 'allow' }] } }))
}

it('permits nothing 2 s after a suspension when its looks fail, though it can still write', async () => {
  const url = newDatabase()
  let areLooksLost = false
  const relay = await openRelay(url, ({ collection }) =>
    areLooksLost && collection === 'replicas' ? 'lost' : 'passes',
  )
  relays.push(relay)
  const [suspends, asked] = [await startReplica({ url }), await startReplica({ url: relay.hurriedUrl })]
  await makePolicy(suspends)
  const ask = () => asked.call('POST', '/v1/decisions', { body: ASK })
  await until('the policy', async () => ((await ask()).body.effect === 'allow' ? true : undefined))

  areLooksLost = true
  await done(suspends.call('POST', '/v1/agents/agent:a/suspend', { body: {} }))
  const suspended = performance.now()
  let [before, after] = [0, 0]
  await until(
    'the answer that it does not know',
    async () => {
      const isLate = performance.now() - suspended > PROMISE_MS
      const { status, body } = await ask()
      if (status === 200 && body.permit_token !== undefined) isLate ? after++ : before++
      return body.code === 'replica_stale' ? true : undefined
    },
    3 * PROMISE_MS,
  )
  console.log(`${before} permits until 2 s after the suspension`)
  expect(after).toBe(0)
  expect((await asked.call('GET', '/readyz')).status).toBe(503)
  areLooksLost = false
  await until('it to know', async () => ((await ask()).body.reason_code === 'agent_suspended' ? true : undefined))
})

/** A request to make a key, by one that another server revokes while the body is still to come. */
async function beginAndRevoke(revokes: ShippedServer, asked: ShippedServer, meanwhile: () => void) {
  const { id, key } = await done(revokes.call('POST', '/v1/keys', { body: { name: 'stolen', scopes: ['*'] } }))
  const self = async () => (await asked.call('GET', '/v1/keys/self', { key })).status
  await until('the key', async () => ((await self()) === 200 ? true : undefined))
  const connection = await RawConnection.open(asked.url)
  const headers = [
    'POST /v1/keys HTTP/1.1',
    'Host: x',
    'Connection: close',
    `Authorization: Bearer ${key}`,
    'Content-Type: application/json',
    `Content-Length: ${BODY.length}`,
    'Expect: 100-continue',
  ]
  await connection.send(`${headers.join('\r\n')}\r\n\r\n`)
  await until('the go-ahead', () => (connection.received.startsWith('HTTP/1.1 100 Continue') ? true : undefined))
  meanwhile()
  expect((await revokes.call('DELETE', `/v1/keys/${id}`)).status).toBe(204)
  return { connection, self }
}

async function expectNothingPlanted(server: ShippedServer): Promise<void> {
  const { data } = await done(server.call('GET', '/v1/keys?limit=200'))
  expect(data.map(({ name }: { name: string }) => name)).not.toContain('planted')
}

it('makes no key for one that was revoked elsewhere while the body was on its way', async () => {
  const url = newDatabase()
  const [revokes, asked] = [await startReplica({ url }), await startReplica({ url })]
  const { connection, self } = await beginAndRevoke(revokes, asked, () => {})
  await until('the revocation', async () => ((await self()) === 401 ? true : undefined))
  await connection.send(BODY)
  expect(await connection.answer()).toContain('HTTP/1.1 401 ')
  await expectNothingPlanted(revokes)
})

it('makes no key for one that was revoked elsewhere while it was frozen with the request in hand', async () => {
  const url = newDatabase()
  const [revokes, asked] = [await startReplica({ url }), await startReplica({ url })]
  const { connection } = await beginAndRevoke(revokes, asked, () => asked.signal('SIGSTOP'))
  await connection.send(BODY)
  await sleep(PROMISE_MS + 100)
  asked.signal('SIGCONT')
  expect(await connection.answer()).toMatch(/\r\n\r\nHTTP\/1\.1 (401|503) /)
  await expectNothingPlanted(revokes)
})
