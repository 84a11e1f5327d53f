/**
 * What a guard adds to a tool call of a LangChain agent, beside the same agent without one: CPU of this process and time, per
 * call. An agent takes one turn in which its model calls a tool that does nothing, alone or eight times at once. Beside the
 * guards stands middleware that only passes calls on, and, without any agent, the two calls of the client that a guard makes. The
 * decision point is a process of its own, which answers at once. The cases take turns, and ratios are taken inside a round, so
 * that a busy machine slows all of them alike.
 * Run: node bench/langchain.mjs
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Countersign } from '@countersign/client'
import { countersignGuard, guardTool } from '@countersign/langchain'
import { fakeModel } from '@langchain/core/testing'
import { AIMessage, createAgent, createMiddleware, tool } from 'langchain'
import { z } from 'zod'
import { inTurns, median, ratioOf } from './parts/figures.mjs'

const ROUNDS = Number(process.env.ROUNDS ?? 9)
const TURNS = 40
const asked = {
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: 'order:8812',
  context: { amount: 42.5 },
}

const decide = fork(fileURLToPath(new URL('parts/decision-point.mjs', import.meta.url)))
decide.once('exit', (code) => code && process.exit(code))
const [{ port }] = await once(decide, 'message')
const client = new Countersign({ baseUrl: `http://127.0.0.1:${port}`, apiKey: 'key-of-a-bench' })

const refund = tool(({ amount }) => `Refunded ${amount}.`, {
  name: 'refund',
  description: 'Pays money back for an order.',
  schema: z.object({ order: z.string(), amount: z.number() }),
})
const mapping = {
  action: asked.action,
  resource: ({ order }) => `order:${order}`,
  context: ({ amount }) => ({ amount }),
}
const settings = { client, agentId: asked.agent_id }
const passOn = createMiddleware({ name: 'PassOn', wrapToolCall: (request, handler) => handler(request) })
const guarded = countersignGuard({ ...settings, map: { refund: mapping } })

const agents = {
  'no guard': { tools: [refund] },
  'middleware that passes on': { tools: [refund], middleware: [passOn] },
  countersignGuard: { tools: [refund], middleware: [guarded] },
  guardTool: { tools: [guardTool(refund, { ...settings, ...mapping })] },
}

try {
  for (const calls of [1, 8]) {
    const cases = Object.entries(agents).map(([name, options]) => {
      const takeTurn = turnsOf(options, calls)
      return [name, () => measure(takeTurn, calls)]
    })
    const alone = { 'authorize and confirm alone': () => measure(askAndConfirm, 1) }
    report(calls, await inTurns(ROUNDS, { ...Object.fromEntries(cases), ...alone }))
  }
} finally {
  client.close()
  decide.kill()
}

/** An agent whose model calls the tool this many times at once in every turn. */
function turnsOf(options, calls) {
  const model = fakeModel()
  const agent = createAgent({ model, ...options })
  const args = { order: '8812', amount: asked.context.amount }
  const tool_calls = Array.from({ length: calls }, (_, at) => ({ name: 'refund', args, id: `call_${at}` }))
  return async () => {
    model.respondWithTools(tool_calls).respond(new AIMessage('done'))
    const { messages } = await agent.invoke({ messages: 'go' })
    if (messages.filter(({ status }) => status === 'success').length !== calls) throw new Error('a tool did not run')
  }
}

async function askAndConfirm() {
  const { id } = await client.authorize(asked)
  await client.decisions.confirm(id)
}

/** Microseconds per tool call. */
async function measure(work, calls) {
  const cpu = process.cpuUsage()
  const start = performance.now()
  for (let turn = 0; turn < TURNS; turn += 1) await work()
  // What became of the actions is told after their answers, and counts, too.
  await client.flush()
  const { user, system } = process.cpuUsage(cpu)
  const each = TURNS * calls
  return { cpu: (user + system) / each, time: ((performance.now() - start) * 1000) / each }
}

function report(calls, figures) {
  const of = (kind) =>
    Object.fromEntries(Object.entries(figures).map(([name, all]) => [name, all.map((one) => one[kind])]))
  const [cpu, time] = [of('cpu'), of('time')]
  const line = (name) => {
    const columns = [cpu, time].map((kind) => {
      const ratio = name === 'no guard' ? '' : `x ${ratioOf(kind[name], kind['no guard']).toFixed(2)}`
      return `${median(kind[name]).toFixed(0).padStart(8)} us ${ratio.padEnd(8)}`
    })
    return `${name.padEnd(28)}${columns.join('')}`
  }
  console.log(`\nper tool call, ${calls} of a turn at once; medians of ${ROUNDS} rounds of ${TURNS} turns\n`)
  console.log(`${''.padEnd(28)}${'CPU'.padStart(11)}${'time'.padStart(20)}`)
  for (const name of Object.keys(figures)) console.log(line(name))
}
