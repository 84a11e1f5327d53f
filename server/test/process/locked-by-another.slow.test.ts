/** Another program has the database locked for writing, as a shell of SQLite with an open transaction does, while the server runs. */
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { listAll } from './call.js'
import { Child, endChildren } from './child.js'
import { countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

/** Where `libsql` is found. */
const SERVER = fileURLToPath(new URL('../..', import.meta.url))
const HOLD = `
  import Database from 'libsql'
  const db = new Database(process.argv[1])
  db.exec('PRAGMA busy_timeout = 10000; BEGIN EXCLUSIVE')
  console.log('locked')
  setInterval(() => db.inTransaction, 1000)`

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

async function locked(dataDir: string): Promise<Child> {
  const args = ['--input-type=module', '--eval', HOLD, join(dataDir, 'countersign.db')]
  const holder = new Child(process.execPath, args, { cwd: SERVER })
  await holder.says(/locked/)
  return holder
}

/** More than what counts as one signal. */
const SECOND_SIGNAL_MS = 600

it.each([
  ['one signal', 1],
  ['a second signal, while the writer waits for the lock', 2],
])(
  'a server that is stopped by %s ends without a crash and has lost nothing',
  async (_, signals) => {
    const dataDir = newDirectory()
    const first = await ShippedServer.start({ dataDir })
    const asked = { agent_id: 'agent:a', action: 'a.b' }
    const { body: acknowledged } = await first.call('POST', '/v1/decisions', { body: asked })
    expect(await first.stop()).toEqual({ code: 0, signal: null })

    const holder = await locked(dataDir)
    const server = countersign(['serve'], { env: { PORT: '0', DATA_DIR: dataDir } })
    await until('the feed to meet the lock', () => server.stdout.includes('database is locked') || undefined, 60_000)
    server.signal('SIGTERM')
    if (signals > 1) {
      await setTimeout(SECOND_SIGNAL_MS)
      server.signal('SIGTERM')
    }
    const { code, signal } = await server.end(60_000)
    console.log(`it ended with ${code ?? signal}`)
    expect([signal, server.stderr]).toEqual([null, expect.not.stringContaining('panicked')])
    if (signals > 1) expect(code).toBe(1)

    holder.signal('SIGKILL')
    await holder.end()
    const next = await ShippedServer.start({ dataDir })
    expect((await listAll(next.url, '/v1/decisions', next.key)).map(({ id }) => id)).toEqual([acknowledged.id])
  },
  120_000,
)
