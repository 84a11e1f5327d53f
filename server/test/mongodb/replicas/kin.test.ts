/** Who is kin of whom is so in every replica, also of a key that another replica made a moment ago. */
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { openRelay, type Relay } from '../../stores/mongodb/relay.js'
import { done, newDatabase, removeReplicas, startReplica } from './replicas.js'

const relays: Relay[] = []
afterEach(async () => {
  await removeReplicas()
  for (const relay of relays.splice(0)) await relay.close()
})

it('a replica that has not seen the key that asked lets no kin of it approve', async () => {
  const url = newDatabase()
  let areLooksLost = false
  const relay = await openRelay(url, ({ collection }) =>
    areLooksLost && collection === 'replicas' ? 'lost' : 'passes',
  )
  relays.push(relay)
  const [first, second] = [await startReplica({ url }), await startReplica({ url: relay.hurriedUrl })]
  await done(first.call('POST', '/v1/policies', { body: { name: 'all', rules: [{ action: 'a', effect: 'review' }] } }))
  const scopes = ['decisions:write', 'reviews:write', 'keys:write']
  const reviewer = await done(first.call('POST', '/v1/keys', { body: { name: 'reviewer', scopes } }))
  const whoAmI = () => second.call('GET', '/v1/keys/self', { key: reviewer.key })
  await until('the key', async () => ((await whoAmI()).status === 200 ? true : undefined))

  areLooksLost = true
  const body = { name: 'child', scopes: ['decisions:write'] }
  const child = await done(first.call('POST', '/v1/keys', { key: reviewer.key, body }))
  const asked = { agent_id: 'agent:a', action: 'a' }
  const { id } = await done(first.call('POST', '/v1/decisions', { key: child.key, body: asked }))
  const approve = () => second.call('POST', `/v1/decisions/${id}/approve`, { key: reviewer.key })
  expect((await approve()).status).toBe(503)
  areLooksLost = false
  const answer = await until('an answer', async () => {
    const { status, body } = await approve()
    return status === 503 ? undefined : { status, code: body.code }
  })
  expect(answer).toEqual({ status: 403, code: 'self_approval' })
})
