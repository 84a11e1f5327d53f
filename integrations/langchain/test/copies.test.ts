/** Guards within guards, where an app has several copies of the packages, such as two versions of them. */
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as client from '@countersign/client'
import * as langchain from '@countersign/langchain'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { Command } from '@langchain/langgraph'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { agentOf, MAP, Rig, thread, toolMessages, toolsOf } from './rig.js'

const { resolve } = createRequire(import.meta.url)
const point = useDecisionPoint()
let rig: Rig
let folder: string
let copied: { client: typeof client; langchain: typeof langchain }
beforeAll(async () => {
  rig = await Rig.open(point())
  folder = await mkdtemp(join(tmpdir(), 'countersign-copies-'))
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  const shared = resolve('langchain').split(/(?<=node_modules)/)[0] ?? ''
  for (const name of ['langchain', '@langchain']) await symlink(join(shared, name), join(modules, name))
  const copy = async (name: string): Promise<string> => {
    const [from, to] = [dirname(dirname(resolve(name))), join(modules, name)]
    for (const part of ['package.json', 'dist']) await cp(join(from, part), join(to, part), { recursive: true })
    return join(to, 'dist')
  }
  const load = async (name: string, file: string) => import(pathToFileURL(join(await copy(name), file)).href)
  copied = {
    client: await load('@countersign/client', 'index-node.js'),
    langchain: await load('@countersign/langchain', 'index.js'),
  }
})
afterAll(() => rm(folder, { recursive: true, force: true }))

it('are copies', () => {
  expect(copied.client.Countersign).not.toBe(client.Countersign)
  expect(copied.langchain.guardTool).not.toBe(langchain.guardTool)
})

it.each<[string, () => typeof client, () => typeof langchain, () => typeof langchain]>([
  ['a client', () => copied.client, () => langchain, () => langchain],
  ['a guard of the tool', () => client, () => langchain, () => copied.langchain],
  ['a guard of the agent', () => client, () => copied.langchain, () => langchain],
])('with %s of another copy, asks, interrupts, runs and quotes once', async (_what, clients, outer, inner) => {
  rig.events.length = 0
  const runs: string[] = []
  const seen: unknown[] = []
  const { Countersign } = clients()
  const own = new Countersign({ ...rig.options })
  const [, , review] = toolsOf(runs, () => {
    seen.push(...[outer(), inner()].map(({ currentRun }) => currentRun()?.decision?.id))
    return 'did it'
  })
  if (!review) throw new Error('there is no tool')
  const onEvent = (event: client.EnforcementEvent) => void rig.events.push(event)
  const options = { client: own, onEvent, review: 'interrupt' } as const
  const guarded = inner().guardTool(review, { ...options, ...(MAP.review as object) })
  const middleware = [outer().countersignGuard({ ...options, map: MAP })]
  const agent = agentOf({ calls: [{ name: 'review' }], tools: [guarded], middleware })
  const config = thread()
  await agent.invoke({ messages: [{ role: 'human', content: 'go' }] }, config)
  const [id = '', ...others] = rig.decisionIds()
  await rig.operator.transition(id, 'approve', { comment: 'fine' })
  const answer = await agent.invoke(new Command({ resume: true }), config)
  expect(answer).not.toHaveProperty('__interrupt__')
  expect(toolMessages(answer)).toMatchObject([{ content: 'did it\n\nThe reviewer wrote: "fine"', status: 'success' }])
  expect([runs, others]).toEqual([['review 1'], []])
  expect(seen).toEqual([id, id])
  await own.flush()
  expect((await rig.operator.decision(id)).status).toBe('confirmed')
  own.close()
})
