/** A disk without room: nothing is permitted, and nothing has to be restarted. */
import { execFileSync, spawnSync } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

const mounted: string[] = []
const probe = spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt'], { encoding: 'utf8' })
const cannotMount = probe.status === 0 ? null : (probe.error?.message ?? probe.stderr.trim())
if (cannotMount !== null) console.log(`skipped: no disk can be mounted here (${cannotMount})`)

afterEach(async () => {
  await endChildren()
  for (const disk of mounted.splice(0)) execFileSync('umount', [disk])
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

  it.skipIf(cannotMount !== null)(
    'of 8 MB is told by /readyz as long as decisions find no room',
    async () => {
      const disk = newDirectory()
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk])
      mounted.push(disk)
      const ballast = join(disk, 'ballast')
      writeFileSync(ballast, Buffer.alloc(3 * 1024 * 1024))
      const server = await ShippedServer.start({ dataDir: join(disk, 'data') })
      const policy = { name: 'refunds', rules: [{ action: 'payment.refund', effect: 'allow' }] }
      await server.call('POST', '/v1/policies', { body: policy })
      const context = { note: 'x'.repeat(60_000) }
      const ask = () =>
        server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'payment.refund', context } })
      await until('a refusal', async () => ((await ask()).status === 503 ? true : undefined))
      for (let look = 0; look < 5; look += 1) {
        expect((await server.call('GET', '/readyz')).status).toBe(503)
        expect((await ask()).status).toBe(503)
      }
      rmSync(ballast)
      await until('200 of /readyz', async () =>
        (await server.call('GET', '/readyz')).status === 200 ? true : undefined,
      )
      expect((await ask()).body).toMatchObject({ effect: 'allow' })
      expect((await server.stop()).code).toBe(0)
    },
    60_000,
  )
})
