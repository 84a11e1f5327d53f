/** What is published: packed as npm does it, then used as somebody would who has a strict project of his own. */
import { execFile } from 'node:child_process'
import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileIn, projectWith } from '../../../scripts/clean-project.js'

const run = promisify(execFile)

const CONSUMER = `
import { Countersign } from '@countersign/client'
import { AuditCallbackHandler, BlockingCallbackHandler, countersignGuard, currentRun, guardTool, type CountersignGuardOptions } from '@countersign/langchain'
import { guardedToolNode } from '@countersign/langchain/langgraph'
import { MemorySaver, MessagesAnnotation, StateGraph } from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

const client = new Countersign({ apiKey: 'k' })
const pay = tool(async ({ to, amount }) => ({ receipt: to.length + amount }), {
  name: 'pay',
  description: 'Pays.',
  schema: z.object({ to: z.string(), amount: z.number().default(1) }),
})
const search = tool((query: string) => query.length, { name: 'search', schema: z.string() })

// A guarded tool is the tool: what goes in, what comes out, and where it fits.
const safe: typeof pay = guardTool(pay, {
  client,
  action: 'payment.send',
  resource: ({ to }) => \`account:\${to}\`,
  context: ({ amount }) => ({ amount }),
})
const { receipt }: { receipt: number } = await safe.invoke({ to: 'a' })
const batch: Awaited<ReturnType<typeof pay.batch>> = await safe.batch([{ to: 'a', amount: receipt }])
currentRun()?.setAmount(batch.length)
const found: number = await guardTool(search, { client, action: 'web.search', agentId: 'agent:a' }).invoke('x')
// @ts-expect-error an amount is a number
await safe.invoke({ to: 'a', amount: String(found) })
// @ts-expect-error a receipt is a number
const wrong: { receipt: string } = await safe.invoke({ to: 'a' })

// Who acts is known by the context that each run is given.
const contextSchema = z.object({ agentId: z.string() })
const options: CountersignGuardOptions = {
  client,
  agentId: ({ context }) => context.agentId,
  map: {
    pay: { action: 'payment.send', resource: (args) => \`account:\${args.to}\`, context: ({ amount }) => ({ amount }) },
    search: 'web.search',
    typed: (args: { order: string }, { name, configurable }) => ({ action: \`a.\${name}\`, resource: args.order.trim(), context: { thread: configurable.thread_id } }),
  },
  review: 'interrupt',
  hideForbidden: true,
  onToolError: 'throw',
  unmapped: 'map',
  settleOn: (outcome) => (outcome.kind === 'failed' ? { settle: 'leave' } : undefined),
  onEvent: (event) => event.type satisfies string,
}
const agent = createAgent({
  model: 'openai:some-model',
  tools: [pay, safe, search],
  contextSchema,
  checkpointer: new MemorySaver(),
  middleware: [countersignGuard(options)],
})
const { messages } = await agent.invoke({ messages: 'go' }, { context: { agentId: 'agent:a' }, configurable: { thread_id: 't' } })
const text: string | undefined = messages.at(-1)?.text
// @ts-expect-error the context says who acts
await agent.invoke({ messages: text ?? '' }, { context: { agentId: 7 } })

new StateGraph(MessagesAnnotation).addNode('tools', guardedToolNode([pay, search], { client, map: { pay: 'payment.send' } }))
new ToolNode([safe])
await agent.invoke({ messages: 'go' }, { context: { agentId: 'agent:a' }, callbacks: [new AuditCallbackHandler({ client }), new BlockingCallbackHandler({ client, tools: [pay], map: { pay: 'payment.send' } })] })

// @ts-expect-error there is no way to let an error through
countersignGuard({ client, onUnavailable: 'allow' })
// @ts-expect-error an option that does not exist
countersignGuard({ client, failMode: 'open' })
// @ts-expect-error a way to review that does not exist
countersignGuard({ client, review: 'approve' })
// @ts-expect-error a mapping gives what is asked, and not who asks
countersignGuard({ client, map: { pay: { action: 'payment.send', agent_id: 'agent:a' } } })
// @ts-expect-error a client is needed
countersignGuard({ map: { pay: 'payment.send' } })
// @ts-expect-error a callback cannot wait for a review
new BlockingCallbackHandler({ client, tools: [pay], review: 'wait' })
// @ts-expect-error the arguments that a tool runs with are not known without its schema
new BlockingCallbackHandler({ client })
// @ts-expect-error a guarded tool names its action by a text
guardTool(pay, { client, action: 7 })
`

describe('the package', () => {
  let project: string
  let installed: string
  beforeAll(async () => {
    project = await projectWith(
      ['integrations/langchain', 'packages/client', 'packages/contract'],
      ['langchain', '@langchain/core', '@langchain/langgraph', 'zod', '@types/node'],
    )
    installed = join(project, 'node_modules', '@countersign', 'langchain')
  }, 120_000)
  afterAll(() => rm(project, { recursive: true, force: true }))

  it('asks for LangChain and the client as its user has them, and for LangGraph where it is used alone', async () => {
    const { dependencies, peerDependencies, peerDependenciesMeta } = JSON.parse(
      await readFile(join(installed, 'package.json'), 'utf8'),
    )
    expect(dependencies).toBeUndefined()
    expect(Object.keys(peerDependencies)).toEqual([
      '@countersign/client',
      '@langchain/core',
      '@langchain/langgraph',
      'langchain',
    ])
    expect(peerDependenciesMeta).toEqual({ '@langchain/langgraph': { optional: true } })
  })

  it('holds no tests and no build leftovers', async () => {
    const files = await readdir(installed, { recursive: true })
    expect(files.filter((name) => /\.test\.|tsbuildinfo|^test/.test(name))).toEqual([])
    expect(files).toEqual(expect.arrayContaining(['README.md', 'dist/index.js', 'dist/index.d.ts']))
  })

  it('exports this and nothing else', async () => {
    const script = "console.log(Object.keys(await import('@countersign/langchain')).sort().join())"
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], { cwd: project })
    expect(stdout.trim()).toBe('AuditCallbackHandler,BlockingCallbackHandler,countersignGuard,currentRun,guardTool')
  })

  it.each([
    ['with the defaults of Node, declarations of libraries included', { skipLibCheck: false }],
    ['with exact optional members', { skipLibCheck: true, exactOptionalPropertyTypes: true }],
  ])(
    'is typed in a strict project, %s',
    async (_how, options) => {
      expect(await compileIn(project, CONSUMER, options)).toBe('')
    },
    120_000,
  )
})
