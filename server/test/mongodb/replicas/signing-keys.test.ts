/** Each replica signs with a key of its own; every replica verifies what any of them signed. */
import { stress, until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { countersign, newDirectory, type ShippedServer } from '../../process/shipped-server.js'
import { done, newDatabase, removeReplicas, startReplica } from './replicas.js'

afterEach(removeReplicas)

it('a permit is redeemed wherever it comes, until its key is revoked', async () => {
  const url = newDatabase()
  const dataDir = newDirectory()
  const signs = await startReplica({ url, dataDir })
  const redeems = await startReplica({ url })
  const rules = [{ action: 'a', effect: 'allow' }]
  await done(signs.call('POST', '/v1/policies', { body: { name: 'all', rules } }))
  const ask = async (): Promise<string> =>
    (await done(signs.call('POST', '/v1/decisions', { body: { agent_id: 'a', action: 'a' } }))).permit_token
  const redeem = (permit_token: string) => redeems.call('POST', '/v1/permits/redeem', { body: { permit_token } })
  const kidsOf = async (server: ShippedServer): Promise<string[]> =>
    (await done(server.call('GET', '/.well-known/jwks.json'))).keys.map(({ kid }: { kid: string }) => kid).sort()
  const kidOf = (permit: string) => JSON.parse(Buffer.from(permit.split('.')[0] as string, 'base64url').toString()).kid

  await done(redeem(await ask()))
  // Each has a key that signs and the next one.
  await until('the same key set at both', async () => {
    const [one, other] = [await kidsOf(signs), await kidsOf(redeems)]
    return one.length === 4 && one.join() === other.join() ? true : undefined
  })
  for (let round = 0; round < stress.replica_rounds; round++) {
    const permit = await ask()
    const run = countersign(['signing-keys', 'revoke', kidOf(permit)], { env: { DATA_DIR: dataDir, MONGODB_URL: url } })
    expect(await run.ended).toMatchObject({ code: 0 })
    const started = performance.now()
    await until('it to verify nowhere', async () => ((await redeem(permit)).status === 400 ? true : undefined), 6000)
    console.log(`revoked for the other replica after ${(performance.now() - started).toFixed(0)} ms`)
    expect(await kidsOf(redeems)).not.toContain(kidOf(permit))
    const fresh = await until('another key to sign', async () => {
      const next = await ask()
      return kidOf(next) === kidOf(permit) ? undefined : next
    })
    // Nobody waits for the other replica to look: it is asked for at once.
    await done(redeem(fresh))
  }
})

it('a replica of another issuer says so when it starts', async () => {
  const url = newDatabase()
  await startReplica({ url })
  const other = await startReplica({ url, env: { ISSUER: 'https://other.example' } })
  expect(other.lines).toContainEqual(
    expect.objectContaining({ level: 'warn', other_issuer: 'https://decisions.example' }),
  )
})
