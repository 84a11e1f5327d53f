/**
 * One pass of an agent: it begins or resumes a thread whose checkpoints are in a file, notes what it runs, and ends. Its tool
 * takes until the standard input ends.
 */
import { appendFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { Countersign } from '@countersign/client'
import { countersignGuard } from '@countersign/langchain'
import { FileCheckpointSaver } from '@countersign/testkit/file-checkpoint-saver'
import { AIMessage } from '@langchain/core/messages'
import { fakeModel } from '@langchain/core/testing'
import { Command, interrupt } from '@langchain/langgraph'
import { createAgent, tool } from 'langchain'
import { z } from 'zod'

const [name, folder, checkpoints, resume] = process.argv.slice(2)
const pay = tool(
  async ({ n }) => {
    const answer = name === 'asks' ? interrupt('go on?') : 'reviewed'
    appendFileSync(`${folder}/${name}.runs`, `${answer} ${n}\n`)
    console.log('begun')
    await text(process.stdin)
    return 'paid'
  },
  { name, schema: z.object({ n: z.number() }) },
)
const call = new AIMessage({ content: '', tool_calls: [{ type: 'tool_call', id: 'call_0', name, args: { n: 1 } }] })
const answer = (messages) => (messages.at(-1)?.getType() === 'human' ? call : new AIMessage('done'))
const client = new Countersign({ timeoutMs: 30_000 })
const guard = countersignGuard({
  client,
  review: 'interrupt',
  map: { [name]: { action: `t.${name}`, resource: 'order:1' } },
})
const agent = createAgent({
  model: fakeModel().respond(answer).respond(answer),
  tools: [pay],
  middleware: [guard],
  checkpointer: new FileCheckpointSaver(checkpoints),
})
const input = resume ? new Command({ resume }) : { messages: [{ role: 'human', content: 'go' }] }
const { messages, __interrupt__: asked = [] } = await agent.invoke(input, { configurable: { thread_id: 'one' } })
await client.flush()
const denied = messages.flatMap(({ artifact }) => artifact?.denied ?? [])
console.log(JSON.stringify({ asked: asked.map(({ value }) => value), last: messages.at(-1)?.text, denied }))
