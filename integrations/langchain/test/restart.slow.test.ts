/** A graph that is interrupted in one process and resumed in another runs its tool once, by one decision. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Countersign } from '@countersign/client'
import { Operator, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { afterAll, expect, it } from 'vitest'

const AGENT = fileURLToPath(new URL('./restarting-agent.mjs', import.meta.url))
const point = useDecisionPoint()
const folder = mkdtempSync(join(tmpdir(), 'countersign-restart-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Passes of one agent, each a process of its own. */
async function restarting(name: string, effect: 'allow' | 'review') {
  const { url, apiKey } = point()
  const operator = new Operator(point())
  const agent_id = `agent:restarted-${name}`
  await operator.makePolicy(`t.${name}`, effect)
  /** The tool takes until `end`, which resolves with what the pass came to. */
  const begin = (checkpoints: string, ...resume: string[]) => {
    const env = {
      PATH: process.env.PATH,
      COUNTERSIGN_URL: url,
      COUNTERSIGN_API_KEY: apiKey,
      COUNTERSIGN_AGENT_ID: agent_id,
    }
    const args = [AGENT, name, folder, join(folder, checkpoints), ...resume]
    const child = spawn(process.execPath, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    const said = text(child.stdout)
    const end = async () => {
      child.stdin.end()
      return JSON.parse((await said).split('\n').at(-2) ?? '')
    }
    return { begun: once(child.stdout, 'data').then(String), end }
  }
  const runs = () => readFileSync(join(folder, `${name}.runs`), 'utf8')
  const statuses = async () => {
    const admin = new Countersign({ baseUrl: url, apiKey })
    const found: string[] = []
    for await (const { status } of admin.decisions.list({ agent_id })) found.push(status)
    admin.close()
    return found
  }
  return { operator, begin, runs, statuses }
}

it('23: a tool that interrupts itself', async () => {
  const { begin, runs, statuses } = await restarting('asks', 'allow')
  expect((await begin('asks').end()).asked).toHaveLength(1)
  expect(await begin('asks', 'yes').end()).toEqual({ asked: [], last: 'done', denied: [] })
  expect(runs()).toBe('yes 1\n')
  expect(await statuses()).toEqual(['confirmed'])
})

it('23: a tool that a person reviews, whose graph several processes resume at once', async () => {
  const { operator, begin, runs, statuses } = await restarting('pays', 'review')
  const [asked] = (await begin('pays').end()).asked
  await operator.transition(asked.decision_id, 'approve')
  for (const copy of ['second', 'third']) cpSync(join(folder, 'pays'), join(folder, copy), { recursive: true })
  const first = begin('pays', 'yes')
  expect(await first.begun).toBe('begun\n')
  const others = ['second', 'third'].map((copy) => begin(copy, 'yes').end())
  const denied = [{ reason: 'already_claimed', decision_id: null }]
  for (const other of await Promise.all(others)) expect(other).toEqual({ asked: [], last: 'done', denied })
  expect(await first.end()).toEqual({ asked: [], last: 'done', denied: [] })
  expect(runs()).toBe('reviewed 1\n')
  expect(await statuses()).toEqual(['confirmed'])
})
