/** `countersign keys create` beside a server that stands still or is killed: what it prints is a key, and one key alone. */
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { call, listAll } from './call.js'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** A server that stands still, and the command once it has left its admin command. */
async function commandToStanding(dataDir: string) {
  const spool = join(dataDir, 'operator-inbox')
  const server = await ShippedServer.start({ dataDir })
  server.signal('SIGSTOP')
  const command = countersign(['keys', 'create'], { env: { DATA_DIR: dataDir } })
  await until(
    'a command',
    () => (existsSync(spool) && readdirSync(spool).some((name) => name.endsWith('.json'))) || undefined,
  )
  return { server, command, spool }
}

it('makes the key itself when the server is killed while the command waits', async () => {
  const dataDir = newDirectory()
  const { server, command, spool } = await commandToStanding(dataDir)
  await server.kill()
  expect(await command.end()).toEqual({ code: 0, signal: null })
  expect(readdirSync(spool)).toEqual([])
  const next = await ShippedServer.start({ dataDir })
  expect((await call(next.url, 'GET', '/v1/keys/self', { key: command.stdout.trim() })).status).toBe(200)
  expect(await listAll(next.url, '/v1/keys', CHOSEN_KEY)).toHaveLength(2)
})

it('prints nothing, withdraws its command and fails when the server stands still for too long', async () => {
  const dataDir = newDirectory()
  const { server, command, spool } = await commandToStanding(dataDir)
  expect(await command.end(25_000)).toEqual({ code: 1, signal: null })
  expect({ stdout: command.stdout, spool: readdirSync(spool) }).toEqual({ stdout: '', spool: [] })
  expect(JSON.parse(command.stderr).msg).toMatch(/did not create the key in time/)
  server.signal('SIGCONT')
  expect(await listAll(server.url, '/v1/keys', CHOSEN_KEY)).toHaveLength(1)
})
