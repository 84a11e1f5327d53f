/** docs/runbooks.md, "The audit log was rewritten", command for command. */
import { until } from '@countersign/testkit'
import { afterEach, expect, it } from 'vitest'
import { forgetTrees, intruderOf } from '../intruder.js'
import { endChildren } from './child.js'
import { commandsOf, type Operator } from './runbook.js'
import { backedUp, expectAlive, signed } from './runbook-life.js'
import { removeDirectories } from './shipped-server.js'

afterEach(async () => {
  await endChildren()
  removeDirectories()
})

const [see, refuse, keep, find, accept, check] = commandsOf('The audit log was rewritten', 6) as [
  ...[string, string, string],
  ...[string, string, string],
]
const [, , , , restore, start, verify] = commandsOf('Restore drill', 7) as [
  ...[string, string, string, string],
  ...[string, string, string],
]

const rewritten = (operator: Operator) =>
  until('the metric', async () => {
    const { body } = await operator.server.call('GET', '/metrics')
    return /^countersign_audit_log_rewritten 1$/m.test(body) || undefined
  })

it('is found entry by entry, and left for a backup or accepted', async () => {
  const { operator, server, life } = await backedUp()
  const log = await signed(server)
  operator.succeed(`
    npx countersign audit export --out "$SAFE/audit.ndjson"
    npx countersign audit export --checkpoint-only --witness "$SAFE/kept.txt"`)
  const intruder = intruderOf(operator.dataDir)
  await intruder.changeEntry(log, 1, (entry) => ({ ...entry, actor: 'key_nobody' }))
  await forgetTrees(intruder)
  await rewritten(operator)
  const said = server.lines.filter(({ level }) => level === 'error')
  expect(JSON.stringify(said)).toContain('countersign audit accept-rewrite')

  expect(operator.run(see)).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^problem +audit log +This server/m),
  })
  expect(operator.run(refuse)).toMatchObject({
    code: 2,
    stdout: expect.stringMatching(/^Tampered with: The audit log/),
  })
  operator.succeed(keep)
  const [changed, ...others] = operator.succeed(find).trimEnd().split('\n')
  expect(others).toEqual([])
  expect(JSON.parse(changed ?? '')).toMatchObject({ log, index: 1, actor: null })
  await expectAlive(server, operator.dataDir, life)
  await operator.stop()

  operator.succeed(restore)
  await operator.serve(start)
  await signed(operator.server)
  expect(operator.succeed(verify)).toContain('Intact: The records match')
  await operator.stop()

  await operator.serve()
  await rewritten(operator)
  expect(operator.succeed(accept)).toMatch(/^Accepted/)
  await signed(operator.server)
  expect(operator.succeed(check)).toContain('Intact: ')
  const kept = operator.run(`${check.split('\n').at(-1)} --kept "$SAFE/kept.txt"`)
  expect(kept).toMatchObject({ code: 2, stdout: expect.stringMatching(/^Tampered with/) })
  const { body } = await operator.server.call('GET', '/v1/audit/checkpoints')
  expect(body.root.origin).toMatch(/^decide\.example\/root\.[\w-]{8}$/)
  expect(operator.run(accept)).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing to accept') })
  await operator.stop()
}, 120_000)
