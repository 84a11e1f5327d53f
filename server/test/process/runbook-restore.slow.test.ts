/** docs/runbooks.md, "Restore drill" with "Restore for real", command for command. */
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { commandsOf } from './runbook.js'
import { backedUp, expectAlive, pay, signed } from './runbook-life.js'
import { removeDirectories } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const [drill, verifyDrill, lookThrough, endDrill, restore, start, verify] = commandsOf('Restore drill', 7) as [
  ...[string, string, string, string],
  ...[string, string, string],
]

it('a drill leaves nothing behind, and a restore has what the backup has', async () => {
  const { operator, server, life } = await backedUp()
  const { id } = await pay(server, 20, 'since-the-backup')
  await signed(server)

  operator.succeed(drill)
  expect(operator.succeed(verifyDrill)).toContain('Intact: The records match')
  expect(operator.succeed(lookThrough)).not.toMatch(/^problem/m)
  operator.succeed(endDrill)
  expect(operator.has('"$SAFE/drill"')).toBe(false)
  expect((await server.call('GET', `/v1/decisions/${id}`)).status).toBe(200)

  await operator.stop()
  operator.succeed(restore.replace('"$SAFE/signing-keys.json"', 'data/signing-keys.json'))
  const restored = await operator.serve(start)
  expect(restored.lines.filter(({ msg }) => String(msg).startsWith('the store was restored'))).toHaveLength(1)
  await expectAlive(restored, join(operator.home, 'data-restored'), life)
  expect((await restored.call('GET', `/v1/decisions/${id}`)).status).toBe(404)
  const body = { permit_token: life.open.permit_token }
  expect((await restored.call('POST', '/v1/permits/redeem', { body })).status).toBe(200)
  await signed(restored)
  expect(operator.succeed(verify)).toContain('Intact: The records match')
  await operator.stop()
}, 120_000)
