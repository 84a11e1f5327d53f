/** For graphs that you build of nodes, without `createAgent`; needs `@langchain/langgraph`. Source: docs/langchain.md. */
import { toolGuard } from '@countersign/client/kernel'
import { ToolMessage } from '@langchain/core/messages'
import type { ToolCall } from '@langchain/core/messages/tool'
import { GraphInterrupt, getConfig, isGraphInterrupt, type LangGraphRunnableConfig, task } from '@langchain/langgraph'
import { ToolNode, type ToolNodeOptions } from '@langchain/langgraph/prebuilt'
import { REVIEWS, type ToolsGuardOptions } from './guard-options.js'
import { guardedBy } from './guard-tool.js'
import { revived } from './kept-results.js'

type Tools = ConstructorParameters<typeof ToolNode>[0]

export type GuardedToolNodeOptions = ToolsGuardOptions & Pick<ToolNodeOptions, 'name' | 'tags' | 'handleToolErrors'>

/**
 * A `ToolNode` whose tools run only on a decision that permits them.
 *
 * A plain ToolNode runs all calls of a message again if one of them was interrupted. Here each call is a task of the graph:
 * finished calls are kept with the checkpoint and not run again, and an interrupted call continues. When all others have
 * finished, the first interrupt of a message is shown, and the next one after its answer.
 *
 * @throws TypeError naming the faulty option, and for anything but a tool
 *
 * @example
 * graph.addNode('tools', guardedToolNode([refund, search], { client, agentId: 'agent:support-7', unmapped: 'map' }))
 *
 * Source: docs/langchain.md.
 */
export function guardedToolNode(tools: Tools, options: GuardedToolNodeOptions): ToolNode {
  const guard = toolGuard('guardedToolNode', options, REVIEWS, ['name', 'tags', 'handleToolErrors'])
  const guarded: Tools = tools.map((tool) => guardedBy<Tools[number]>(guard, tool, false))
  return new TaskToolNode(guarded, options)
}

class TaskToolNode extends ToolNode {
  /** Of each run of the node: the interrupts of its calls, in the order of the calls. */
  readonly #passes = new WeakMap<object, { readonly interrupts: GraphInterrupt['interrupts'][]; hasBegun: boolean }>()

  protected override async run(input: unknown, config: LangGraphRunnableConfig) {
    const own = { ...config }
    const interrupts: GraphInterrupt['interrupts'][] = []
    this.#passes.set(own, { interrupts, hasBegun: false })
    const output = await super.run(input, own)
    // LangGraph shows one interrupt of a node.
    const first = interrupts.find(({ length }) => length > 0)
    if (first !== undefined) throw new GraphInterrupt(first)
    return output
  }

  protected override async runTool(call: ToolCall, config: LangGraphRunnableConfig, state: unknown) {
    const pass = this.#passes.get(config)
    // Outside of a graph there are no tasks.
    if (pass === undefined || config.configurable?.__pregel_call === undefined)
      return super.runTool(call, config, state)
    const turn = pass.interrupts.push([]) - 1
    // The task has the name of its node, so that streams show the name that a ToolNode has. No model chooses it.
    const node = String(config.metadata?.langgraph_node ?? 'tools')
    const run = task(node, async () => {
      const within = { ...config, ...getConfig() }
      const { __pregel_resume_map: byId, __pregel_scratchpad: pad } = within.configurable ?? {}
      // So that the tool reads the input of the node by getCurrentTaskInput, as in a ToolNode.
      Object.assign(pad, { currentTaskInput: config.configurable?.__pregel_scratchpad?.currentTaskInput })
      // An answer without an id is for the first interrupt, which was shown. LangGraph keeps it after its use.
      if (pass.hasBegun || byId !== undefined) delete pad?.nullResume
      pass.hasBegun = true
      // The node returns the messages of all calls. LangGraph would also stream the result of each task, unless the task first writes an
      // error: it then shows no result, but keeps it.
      within.configurable?.__pregel_send?.([['__error__', '']])
      // Streams cannot see the message before the node returns it. In a checkpoint this is like the update of a node, which LangGraph
      // streams, marked as cached, when a step runs again.
      const messages = [await super.runTool(call, within, state)] as const
      return Object.defineProperty({ messages, toJSON: () => ({ messages }) }, 'messages', { enumerable: false })
    })
    try {
      return revived((await run()).messages[0])
    } catch (error) {
      if (!isGraphInterrupt(error)) throw error
      pass.interrupts[turn] = error.interrupts
      return new ToolMessage({ content: '', tool_call_id: call.id ?? '' })
    }
  }
}
