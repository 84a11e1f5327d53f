/** What commands say of an embedded store in which somebody changed a page: its file is checked against sums of its pages. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { CHOSEN_KEY, countersign, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

it('is named by doctor, and by the check of records', async () => {
  const dataDir = newDirectory()
  const server = await ShippedServer.start({ dataDir })
  const jwks = join(newDirectory(), 'jwks')
  writeFileSync(jwks, await (await fetch(`${server.url}/.well-known/jwks.json`)).text())
  await server.stop()
  const file = join(dataDir, 'countersign.db')
  const bytes = readFileSync(file)
  bytes[bytes.length - 100] = (bytes.at(-100) as number) ^ 1
  writeFileSync(file, bytes)

  const run = async (...args: string[]) => {
    const env = { COUNTERSIGN_API_KEY: CHOSEN_KEY, PORT: '0', DATA_DIR: dataDir }
    const child = countersign(args, { env })
    const { code } = await child.end(60_000)
    return { code, said: child.stdout + child.stderr }
  }
  const named = expect.stringMatching(/page \d+ differs from what was written/)
  expect(await run('doctor')).toEqual({ code: 1, said: named })
  const records = await run('audit', 'verify', '--records', '--offline', '--jwks', jwks)
  expect(records).toEqual({ code: 1, said: named })
  expect(records.said).not.toContain('"stack"')
}, 60_000)
