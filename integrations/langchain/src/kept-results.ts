/** Keeps results of finished calls with the checkpoint of their step: LangGraph runs an interrupted step again from its beginning. */
import type { CallStep, EndedCall } from '@countersign/client/kernel'
import type { BaseCheckpointSaver, Command } from '@langchain/langgraph'

/** LangGraph ignores it, because no graph has such a channel. */
const CHANNEL = '__countersign_result__'

/** The results of the step that a call is part of; undefined if the step has no checkpoint, or no other call. */
export function keptResultsOf(configurable: Readonly<Record<string, unknown>>): CallStep['results'] {
  const { thread_id, checkpoint_ns, __pregel_checkpointer, checkpoint_map, __pregel_scratchpad } = configurable
  // LangGraph itself keeps the result of a step with only one call, as an agent makes for each.
  if ('lg_tool_call' in Object(Object(__pregel_scratchpad).currentTaskInput)) return undefined
  const parent = String(checkpoint_ns).split('|').slice(0, -1).join('|')
  const checkpoint_id = Object(checkpoint_map)[parent]
  if (typeof checkpoint_id !== 'string' || !isCheckpointer(__pregel_checkpointer)) return undefined
  const step = { configurable: { thread_id, checkpoint_ns: parent, checkpoint_id } }
  return {
    write: (key, ended) => __pregel_checkpointer.putWrites(step, [[CHANNEL, ended]], key),
    async read(key) {
      const tuple = await __pregel_checkpointer.getTuple(step)
      const write = tuple?.pendingWrites?.find(([taskId, channel]) => taskId === key && channel === CHANNEL)
      const ended = write?.[2] as EndedCall | undefined
      return ended && 'value' in ended ? { value: await revived(ended.value) } : ended
    },
  }
}

/** Makes a command again of one that was kept with a checkpoint. */
export async function revived<Value>(value: Value): Promise<Value | Command> {
  if (Object(value).lg_name !== 'Command') return value
  // Programs whose tools return no commands need not have LangGraph.
  const langgraph = await import('@langchain/langgraph')
  return new langgraph.Command(Object(value))
}

function isCheckpointer(value: unknown): value is Pick<BaseCheckpointSaver, 'getTuple' | 'putWrites'> {
  return typeof Object(value).putWrites === 'function' && typeof Object(value).getTuple === 'function'
}
