/** For graphs that are put together of nodes, without `createAgent`. */
import { assertOptions } from '@countersign/client/kernel'
import type { ToolMessage } from '@langchain/core/messages'
import type { ToolCall } from '@langchain/core/messages/tool'
import { Command, getConfig, isCommand, type LangGraphRunnableConfig, task } from '@langchain/langgraph'
import { ToolNode, type ToolNodeOptions } from '@langchain/langgraph/prebuilt'
import { mappingIn, TOOL_GUARD_OPTIONS, type ToolsGuardOptions, toolGuard } from './guard-options.js'
import { guardedBy } from './guard-tool.js'

type Tools = ConstructorParameters<typeof ToolNode>[0]

export type GuardedToolNodeOptions = ToolsGuardOptions & Pick<ToolNodeOptions, 'name' | 'tags' | 'handleToolErrors'>

/**
 * A `ToolNode` whose tools run only on a decision that permits them.
 *
 * A plain ToolNode runs all calls of a message again when one of them was interrupted. Here each call is a task of the graph:
 * what has finished is kept with the checkpoint, and comes back as it was; what was interrupted goes on.
 *
 * @throws TypeError naming the faulty option, and for what is no tool
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

class TaskToolNode extends ToolNode {
  protected override async runTool(call: ToolCall, config: LangGraphRunnableConfig, state: unknown) {
    // Outside of a graph there are no tasks.
    if (config.configurable?.__pregel_call === undefined) return super.runTool(call, config, state)
    const run = task(call.name, () => super.runTool(call, { ...config, ...getConfig() }, state))
    return revived(await run())
  }
}

/** A command that was kept with a checkpoint comes back as what it was written as. */
function revived(result: ToolMessage | Command): ToolMessage | Command {
  return isCommand(result) ? new Command(result) : result
}
