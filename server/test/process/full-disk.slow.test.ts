/** A disk without room: nothing is permitted, and nothing has to be restarted. */
import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterEach, describe, expect, it } from 'vitest'
import { type Answer, listAll } from './call.js'
import { endChildren } from './child.js'
import { commandsOf, Operator } from './runbook.js'
import { balanceOf, expectAlive, live } from './runbook-life.js'
import { countersign, MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

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
    await isReady(server)
    expect((await ask()).body).toMatchObject({ effect: 'allow' })
    expect((await server.stop()).code).toBe(0)
  }, 60_000)

  it.skipIf(cannotMount !== null)(
    'of 8 MB is told by /readyz as long as decisions find no room, and the steps of docs/runbooks.md end it',
    async () => {
      const operator = new Operator()
      const [look, move, startThere] = commandsOf('The disk is full', 3) as [string, string, string]
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', operator.home])
      mounted.push(operator.home)
      const ballast = join(operator.home, 'ballast')
      writeFileSync(ballast, Buffer.alloc(3 * 1024 * 1024))
      const server = await operator.serve()
      const life = await live(server)
      const { body: note } = await server.call('POST', '/v1/policies', { body: NOTES })
      expect(note.name).toBe(NOTES.name)
      let written = 0
      await until('a refusal', async () => {
        const { status, body } = await write(server, written)
        if (status === 200) written += 1
        else expect({ status, code: body.code }).toEqual({ status: 503, code: 'store_unavailable' })
        return status === 503 || undefined
      })
      for (let seen = 0; seen < 5; seen += 1) {
        expect((await server.call('GET', '/readyz')).status).toBe(503)
        expect((await write(server, written)).status).toBe(503)
      }
      expect((await server.call('GET', `/v1/decisions/${life.open.id}`)).body.status).toBe('authorized')
      expect(operator.succeed(look)).toMatch(/ (9\d|100)% /)

      rmSync(ballast)
      await isReady(server)
      expect((await write(server, written)).body).toMatchObject({ effect: 'allow' })
      await expectWritten(server, written + 1)
      await operator.stop()

      operator.succeed(`export LARGER='${join(newDirectory(), 'data')}'`)
      operator.succeed(move)
      const moved = await operator.serve(startThere)
      await expectAlive(moved, operator.succeed('printf %s "$LARGER"'), life)
      await expectWritten(moved, written + 1)
      await operator.stop()

      // What was written has nearly all of it.
      execFileSync('mount', ['-o', 'remount,size=16m', operator.home])
      fill(ballast)
      const full = await operator.serve()
      expect((await write(full, written + 1)).status).toBe(503)
      expect((await full.call('GET', '/readyz')).status).toBe(503)
      rmSync(ballast)
      await isReady(full)
      expect(await balanceOf(full)).toEqual([9, 5])
      await operator.stop()

      operator.succeed(
        'npx countersign backup "$LARGER.backup" && DATA_DIR=small npx countersign restore "$LARGER.backup"',
      )
      fill(ballast)
      const refused = countersign(['serve'], { env: { PORT: '0', DATA_DIR: join(operator.home, 'small') } })
      expect((await refused.end()).code).toBe(1)
      expect(JSON.parse(refused.stderr).msg).toContain('The disk is full: make room')
    },
    120_000,
  )
})

const isReady = (server: ShippedServer) =>
  until('200 of /readyz', async () => (await server.call('GET', '/readyz')).status === 200 || undefined)

const NOTES = { name: 'notes', rules: [{ action: 'note.write', effect: 'allow' }] }

/** The nth of decisions that fill a disk. Again, it is the same call. */
function write(server: ShippedServer, n: number): Promise<Answer> {
  const body = { agent_id: 'agent:a', action: 'note.write', context: { note: 'x'.repeat(60_000) } }
  return server.call('POST', '/v1/decisions', { body, headers: { 'Idempotency-Key': `note-${n}` } })
}

/** What was refused is not stored. */
async function expectWritten(server: ShippedServer, count: number): Promise<void> {
  expect(await listAll(server.url, '/v1/decisions?action=note.write', server.key)).toHaveLength(count)
}

function fill(file: string): void {
  const descriptor = openSync(file, 'a')
  try {
    for (;;) writeSync(descriptor, Buffer.alloc(4096))
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' })
  } finally {
    closeSync(descriptor)
  }
}
