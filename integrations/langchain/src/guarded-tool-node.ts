/** For graphs that are put together of nodes, without `createAgent`. */
import { assertOptions, mappingIn, TOOL_GUARD_OPTIONS } from '@countersign/client/kernel'
import { ToolMessage } from '@langchain/core/messages'
import type { ToolCall } from '@langchain/core/messages/tool'
import {
  Command,
  GraphInterrupt,
  getConfig,
  isCommand,
  isGraphInterrupt,
  type LangGraphRunnableConfig,
  task,
} from '@langchain/langgraph'
import { ToolNode, type ToolNodeOptions } from '@langchain/langgraph/prebuilt'
import { type ToolsGuardOptions, toolGuard } from './guard-options.js'
import { guardedBy } from './guard-tool.js'

type Tools = ConstructorParameters<typeof ToolNode>[0]

export type GuardedToolNodeOptions = ToolsGuardOptions & Pick<ToolNodeOptions, 'name' | 'tags' | 'handleToolErrors'>

/**
 * A `ToolNode` whose tools run only on a decision that permits them.
 *
 * A plain ToolNode runs all calls of a message again when one of them was interrupted. Here each call is a task of the graph:
 * what has finished is kept with the checkpoint, and comes back as it was; what was interrupted goes on. Once
 * all others have finished, the first interrupt of a message is shown, and the next one when it is answered.
 *
 * @throws TypeError naming the faulty option, and for anything but a tool
 *
 * @example
 * graph.addNode('tools', guardedToolNode([refund, search], { client, agentId: 'agent:support-7', unmapped: 'map' }))
 *
 * Source: docs/langchain.md.
 */
export function guardedToolNode(tools: Tools, options: GuardedToolNodeOptions): ToolNode {
  assertOptions('guardedToolNode', options, [...TOOL_GUARD_OPTIONS, 'map', 'name', 'tags', 'handleToolErrors'])
  const { map, name, tags, handleToolErrors, ...rest } = options
  const mappingOf = mappingIn(map)
  const guard = toolGuard(rest)
  const guarded: Tools = tools.map((tool) => guardedBy<Tools[number]>(guard, mappingOf(tool.name), tool))
  const given = Object.entries({ name, tags, handleToolErrors }).filter(([, value]) => value !== undefined)
  return new TaskToolNode(guarded, Object.fromEntries(given))
}

/** One run of the node: its calls in their order, with what each of them interrupts the graph by. */
interface Pass {
  readonly interrupts: GraphInterrupt['interrupts'][]
  hasBegun: boolean
}

class TaskToolNode extends ToolNode {
  readonly #passes = new WeakMap<LangGraphRunnableConfig, Pass>()

  protected override async run(input: unknown, config: LangGraphRunnableConfig) {
    const [own, pass]: [LangGraphRunnableConfig, Pass] = [{ ...config }, { interrupts: [], hasBegun: false }]
    this.#passes.set(own, pass)
    const output = await super.run(input, own)
    // LangGraph shows one interrupt of a node.
    const first = pass.interrupts.find(({ length }) => length > 0)
    if (first !== undefined) throw new GraphInterrupt(first)
    return output
  }

  protected override async runTool(call: ToolCall, config: LangGraphRunnableConfig, state: unknown) {
    const pass = this.#passes.get(config)
    // Outside of a graph there are no tasks.
    if (pass === undefined || config.configurable?.__pregel_call === undefined)
      return super.runTool(call, config, state)
    const turn = pass.interrupts.push([]) - 1
    // The name is no model's: LangGraph puts it into plain objects.
    const run = task('tool_call', () => {
      const within = { ...config, ...getConfig() }
      const { __pregel_resume_map: byId, __pregel_scratchpad: pad } = within.configurable ?? {}
      // An answer without an id is for the interrupt that was shown, the first; LangGraph keeps it when it is used up.
      if (pass.hasBegun || byId !== undefined) delete pad?.nullResume
      pass.hasBegun = true
      return super.runTool(call, within, state)
    })
    try {
      return revived(await run())
    } catch (error) {
      if (!isGraphInterrupt(error)) throw error
      pass.interrupts[turn] = error.interrupts
      return new ToolMessage({ content: '', tool_call_id: call.id ?? '' })
    }
  }
}

/** A command that was kept with a checkpoint comes back as what it was written as. */
function revived(result: ToolMessage | Command): ToolMessage | Command {
  return isCommand(result) ? new Command(result) : result
}
