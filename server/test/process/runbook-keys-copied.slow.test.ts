/** docs/runbooks.md, "The signing keys are lost", when there is a copy. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { endChildren } from './child.js'
import { commandsOf } from './runbook.js'
import { backedUp, complaintsOfKeys, expectAlive, pay } from './runbook-life.js'
import { removeDirectories } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const [, putBack, start] = commandsOf('The signing keys are lost', 5) as [string, string, string, string, string]

it('with a copy: nothing is lost', async () => {
  const { operator, life } = await backedUp()
  rmSync(join(operator.dataDir, 'signing-keys.json'))
  const missing = operator.run('npx countersign doctor')
  expect(missing).toMatchObject({ code: 1, stdout: expect.stringMatching(/^problem +signing keys +.*is missing/m) })
  await operator.stop()
  expect(operator.succeed(putBack)).toMatch(/^ok +signing keys/m)
  const again = await operator.serve(start)
  expect(complaintsOfKeys(operator.server)).toEqual([])
  await expectAlive(again, operator.dataDir, life)
  const body = { permit_token: life.open.permit_token }
  expect((await again.call('POST', '/v1/permits/redeem', { body })).status).toBe(200)
  await operator.stop()
}, 120_000)

it('with a copy from before a rotation: the key of the rotation is still published; from before two it is not', async () => {
  const { operator } = await backedUp()
  await operator.stop()
  for (const [rotations, isPublished] of [
    [1, true],
    [2, false],
  ] as const) {
    operator.succeed('cp -p "$SAFE/signing-keys.json" data/signing-keys.json')
    for (let made = 0; made < rotations; made += 1) operator.succeed('npx countersign signing-keys rotate --force')
    const rotated = await operator.serve()
    const { permit_token } = await pay(rotated, 0, `after-${rotations}`)
    await operator.stop()
    rmSync(join(operator.dataDir, 'signing-keys.json'))
    operator.run(putBack)
    const restored = await operator.serve(start)
    const redeemed = await restored.call('POST', '/v1/permits/redeem', { body: { permit_token } })
    expect(redeemed.status, `after ${rotations}`).toBe(isPublished ? 200 : 400)
    await operator.stop()
  }
}, 120_000)
