/**
 * One turn of the agent, as a process of its own: with SAYS it takes up a new request in THREAD, without it resumes what waits
 * there. Tells its parent which calls the model made, what came of each, what waits for a person, and what the agent says.
 */
import { Command } from '@langchain/langgraph'
import { AIMessage, ToolMessage } from 'langchain'
import { agent, client } from './support-agent.mjs'

const { THREAD, SAYS } = process.env
const thread = { configurable: { thread_id: THREAD } }

const before = (await agent.getState(thread)).values.messages?.length ?? 0
const input = SAYS === undefined ? new Command({ resume: true }) : { messages: [{ role: 'user', content: SAYS }] }
const { messages, __interrupt__: waiting = [] } = await agent.invoke(input, {
  ...thread,
  context: { agentId: 'agent:support-7' },
})

const calls = messages.filter(AIMessage.isInstance).flatMap(({ tool_calls }) => tool_calls)
const steps = messages
  .slice(before)
  .filter(ToolMessage.isInstance)
  .map((result) => {
    const { name, args } = calls.findLast(({ id }) => id === result.tool_call_id)
    return { call: `${name} ${Object.values(args).join(' ')}`, result: result.artifact?.denied?.reason ?? result.text }
  })
process.send({ steps, waiting: waiting.map(({ value }) => value), says: messages.at(-1).text })
await client.flush()
process.disconnect()
