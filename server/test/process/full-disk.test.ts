/** A disk without room, as far as a limit of the size of files is one: nothing is permitted, and nothing has to be restarted. */
import { execFileSync } from 'node:child_process'
import { afterEach, describe, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'
import { until } from './until.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

describe('a full disk', () => {
  it('makes the server not ready until there is room, while it reads what it has', async () => {
    const program = {
      command: 'sh',
      args: ['-c', `ulimit -S -f 2048; exec "$0" "$@"`, process.execPath, MAIN, 'serve'],
    }
    const server = await ShippedServer.start({ dataDir: newDirectory(), program })
    const policy = { name: 'refunds', rules: [{ action: 'payment.refund', effect: 'allow' }] }
    await server.call('POST', '/v1/policies', { body: policy })
    const context = { note: 'x'.repeat(50_000) }
    const ask = () =>
      server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'payment.refund', context } })
    const decision = (await ask()).body
    const refused = await until('a refusal', async () => ((await ask()).status === 503 ? ask() : undefined))
    expect(refused).toMatchObject({
      status: 503,
      body: { code: 'store_unavailable', detail: 'Nothing was permitted.' },
    })
    const readiness = async () => (await server.call('GET', '/readyz')).status
    await until('503 of /readyz', async () => ((await readiness()) === 503 ? true : undefined))
    expect((await server.call('GET', `/v1/decisions/${decision.id}`)).body.id).toBe(decision.id)
    execFileSync('prlimit', ['--pid', `${server.pid}`, '--fsize=unlimited:unlimited'])
    await until('200 of /readyz', async () => ((await readiness()) === 200 ? true : undefined))
    expect((await ask()).body).toMatchObject({ effect: 'allow' })
    expect((await server.stop()).code).toBe(0)
  }, 60_000)
})
