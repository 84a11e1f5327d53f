/** 23: a graph that is interrupted in one process and resumed in another runs its tool once, by one decision. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Countersign } from '@countersign/client'
import { Operator, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { afterAll, expect, it } from 'vitest'

const run = promisify(execFile)
const AGENT = fileURLToPath(new URL('./restarting-agent.mjs', import.meta.url))
const point = useDecisionPoint()
const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

it.each([
  ['a person reviews', 'review', 'review', 'reviewed 1\n'],
  ['interrupts itself', 'allow', 'allow', 'yes 1\n'],
] as const)('23: a tool that %s', async (_what, name, effect, ran) => {
  const operator = new Operator(point())
  await operator.makePolicy(`t.${name}`, effect)
  const folder = mkdtempSync(join(tmpdir(), 'countersign-restart-'))
  folders.push(folder)
  const { url, apiKey } = point()
  const agent_id = `agent:restarted-${name}`
  const env = {
    PATH: process.env.PATH,
    COUNTERSIGN_URL: url,
    COUNTERSIGN_API_KEY: apiKey,
    COUNTERSIGN_AGENT_ID: agent_id,
  }
  const pass = async (...resume: string[]) => {
    const { stdout } = await run(process.execPath, [AGENT, name, folder, ...resume], { env })
    return JSON.parse(stdout)
  }
  const { asked } = await pass()
  expect(asked).toHaveLength(1)
  if (name === 'review') await operator.move(asked[0].decision_id, 'approve')
  expect(await pass('yes')).toEqual({ asked: [], last: 'done' })
  expect(readFileSync(join(folder, 'runs'), 'utf8')).toBe(ran)
  const admin = new Countersign({ baseUrl: url, apiKey })
  const statuses: string[] = []
  for await (const { status } of admin.decisions.list({ agent_id })) statuses.push(status)
  expect(statuses).toEqual(['confirmed'])
  admin.close()
})
