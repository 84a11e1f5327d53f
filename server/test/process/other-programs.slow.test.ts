/** Other programs that look at the database while the server has it open, as an operator does with the shell of SQLite. */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, it } from 'vitest'
import { listAll } from './call.js'
import { Child, endChildren } from './child.js'
import { newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

/** Where `libsql` is found. */
const SERVER = fileURLToPath(new URL('../..', import.meta.url))
/**
 * Opens the database, reads, and closes it: the last one to close a database removes its log. With a prepared statement the
 * library would not close it before the end of the process.
 */
const LOOK = `
  import Database from 'libsql'
  const db = new Database(process.argv[1])
  db.exec('SELECT count(*) FROM decisions')
  db.close()`

let dataDir: string
afterEach(async () => {
  await endChildren()
  removeDirectories()
})

async function look(): Promise<void> {
  const args = ['--input-type=module', '--eval', LOOK, join(dataDir, 'countersign.db')]
  const program = new Child(process.execPath, args, { cwd: SERVER })
  expect(await program.end()).toEqual({ code: 0, signal: null })
}

async function decided(server: ShippedServer): Promise<string> {
  const { status, body } = await server.call('POST', '/v1/decisions', { body: { agent_id: 'agent:a', action: 'a.b' } })
  expect(status).toBe(200)
  return body.id
}

it.each([
  ['its first start', () => {}],
  ['a start without sums of its pages', () => rmSync(join(dataDir, 'countersign.db-sums'))],
  ['any other start', () => {}],
])('nothing is lost of what the server acknowledged after %s', async (start, before) => {
  dataDir = newDirectory()
  if (start !== 'its first start') await (await ShippedServer.start({ dataDir })).stop()
  before()
  const server = await ShippedServer.start({ dataDir })
  const first = await decided(server)
  await look()
  expect(existsSync(join(dataDir, 'countersign.db-wal'))).toBe(true)
  const acknowledged = [first, await decided(server), await decided(server)]
  await look()
  expect(await server.stop()).toEqual({ code: 0, signal: null })
  const next = await ShippedServer.start({ dataDir })
  const stored = (await listAll(next.url, '/v1/decisions', next.key)).map(({ id }) => id)
  expect(stored.sort()).toEqual(acknowledged.sort())
  expect((await next.call('GET', '/readyz')).status).toBe(200)
})
