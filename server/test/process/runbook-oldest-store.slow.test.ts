/** docs/runbooks.md, "Upgrade and roll back", with the store of the oldest release. */
import { chmodSync, copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { Connection } from '#server/stores/sqlite/driver'
import { endChildren } from './child.js'
import { readAccounts } from './recomputed-accounts.js'
import { commandsOf, Operator } from './runbook.js'
import { balanceOf, pay, signed } from './runbook-life.js'
import { removeDirectories, type ShippedServer } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

/** The backup that the first release with budgets made: 0.1.0 with schema version 3. Its server knew `CHOSEN_KEY`. */
const OLDEST_STORE = fileURLToPath(new URL('../stores/sqlite/fixtures/store-v3.db', import.meta.url))
const [start, , check, , , , startOld] = commandsOf('Upgrade and roll back', 7) as [
  ...[string, string, string, string],
  ...[string, string, string],
]

function schemaOf(file: string): unknown {
  const db = Connection.openReadOnly(file)
  const version = db.get('PRAGMA user_version')?.user_version
  db.close()
  return version
}

it('a store of the oldest release is backed up as it is, upgraded and used, and the backup is still of that release', async () => {
  const operator = new Operator()
  mkdirSync(operator.dataDir, { mode: 0o700 })
  copyFileSync(OLDEST_STORE, join(operator.dataDir, 'countersign.db'))
  chmodSync(join(operator.dataDir, 'countersign.db'), 0o600)
  operator.succeed('export SAFE="$(mktemp -d)" && npx countersign backup "$SAFE/store"')
  const backup = operator.succeed('printf %s "$SAFE/store"')
  expect([schemaOf(backup), schemaOf(join(operator.dataDir, 'countersign.db'))]).toEqual([3, 3])

  const server = await operator.serve(start)
  await settled(server)
  const added = await pay(server, 20, 'by-this-release')
  expect(await balanceOf(server)).toEqual([14, 20])
  await signed(server)
  operator.succeed('curl http://127.0.0.1:8787/.well-known/jwks.json > "$SAFE/jwks.json"')
  const checked = operator.succeed(check)
  expect(checked).toMatch(/^ok +store .*schema version 11\.$/m)
  expect(checked).toMatch(/^Intact: The records match \d+ entries of 1 log\.$/m)
  expect(checked).toContain('written by an older release')
  await operator.stop()
  const { stored, recomputed } = readAccounts(operator.dataDir)
  expect(stored).toEqual(recomputed)

  expect(schemaOf(backup)).toBe(3)
  operator.succeed('DATA_DIR=data-before npx countersign restore "$SAFE/store"')
  const restored = await operator.serve(startOld)
  await settled(restored)
  expect((await restored.call('GET', `/v1/decisions/${added.id}`)).status).toBe(404)
  await operator.stop()
}, 120_000)

/** Nobody has settled what was open in that store: 9 were confirmed, and a permit of 5 has expired. */
async function settled(server: ShippedServer): Promise<void> {
  await until('the end of what was open', async () => {
    const { data } = (await server.call('GET', '/v1/decisions')).body
    const statuses = data.map(({ status }: { readonly status: string }) => status).sort()
    return String(statuses) === 'confirmed,denied,expired,expired' || undefined
  })
  expect(await balanceOf(server)).toEqual([14, 0])
}
