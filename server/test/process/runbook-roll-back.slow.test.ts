/** docs/runbooks.md, "Upgrade and roll back", command for command. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { installNewerRelease, NEWER_VERSION } from './newer-release.js'
import { commandsOf } from './runbook.js'
import { backedUp, balanceOf, expectAlive, pay, signed } from './runbook-life.js'
import { countersign, MAIN, removeDirectories } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const [start, whichVersion, check, keep, ask, restore, startOld] = commandsOf('Upgrade and roll back', 7) as [
  ...[string, string, string, string],
  ...[string, string, string],
]

function filesIn(directory: string): Record<string, string> {
  // SQLite rebuilds its index for each reader.
  const names = readdirSync(directory).filter((name) => !/(-shm|\.lock)$/.test(name))
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name), 'base64')]))
}

it('a newer release upgrades the store, this one refuses it, and goes on from the backup', async () => {
  const { operator, life } = await backedUp()
  operator.succeed(`
    printf %s '${life.open.permit_token}' > "$SAFE/permit.txt"
    npx countersign audit prove "$SAFE/permit.txt" --out "$SAFE/proof.json"`)
  const prove =
    'npx countersign audit verify --permit "$SAFE/permit.txt" --proof "$SAFE/proof.json" --jwks "$SAFE/jwks.json"'
  await operator.stop()

  operator.main = installNewerRelease()
  const upgraded = await operator.serve(start)
  expect(operator.succeed(whichVersion)).toContain(NEWER_VERSION)
  await signed(upgraded)
  const checked = operator.succeed(check)
  expect(checked).toMatch(/^ok +store .*schema version 12\.$/m)
  expect(checked).toContain('Intact: ')
  await expectAlive(upgraded, operator.dataDir, life)
  const lost = await pay(upgraded, 20, 'by-the-newer-release')
  await upgraded.call('POST', `/v1/decisions/${life.open.id}/confirm`, { body: { amount: 5 } })
  expect(await balanceOf(upgraded)).toEqual([14, 20])
  expect(operator.succeed(prove)).toContain('It is in force')
  await signed(upgraded)
  await operator.stop()
  operator.succeed(keep)
  expect(operator.succeed('cat "$SAFE/rolled-back.ndjson"')).toContain(lost.id)

  operator.main = MAIN
  const found = filesIn(operator.dataDir)
  const newer = /schema version 12.*newer release/
  expect(operator.run(ask)).toMatchObject({ code: 1, stdout: expect.stringMatching(newer) })
  const refused = countersign(['serve'], { env: { PORT: '0', DATA_DIR: operator.dataDir } })
  expect((await refused.end()).code).toBe(1)
  expect(refused.stderr).toMatch(newer)
  expect(filesIn(operator.dataDir)).toEqual(found)

  operator.succeed(restore)
  const back = await operator.serve(startOld)
  await expectAlive(back, join(operator.home, 'data-before'), life)
  expect((await back.call('GET', `/v1/decisions/${lost.id}`)).status).toBe(404)
  expect((await back.call('POST', '/v1/permits/redeem', { body: { permit_token: lost.permit_token } })).status).toBe(
    404,
  )
  await signed(back)
  expect(operator.succeed('npx countersign audit verify --records --jwks "$SAFE/jwks.json"')).toContain('Intact: ')
  expect(operator.succeed(prove)).toContain('It is in force')
  await operator.stop()
  expect(filesIn(operator.dataDir)).toEqual(found)
}, 120_000)
