/** What names one call of one tool in one step of one thread, over a pause and over a restart. */
import { createHash } from 'node:crypto'
import type { GuardRequest } from '@countersign/client'
import { textOfData } from '@countersign/client/kernel'
import type { GuardedToolCall } from './guarded-tool-call.js'

/** How often each call was asked about in one run of a node, by what LangGraph makes anew for each of them. */
const asked = new WeakMap<object, Map<string, number>>()

/**
 * LangGraph calls a tool again when its step is resumed: the same call has the same key then, and no other has it. A retry in
 * the same run, and a second call with the same id and arguments, are calls of their own. Undefined outside of a thread: there
 * is no resuming either.
 */
export function callKey(call: GuardedToolCall, request: GuardRequest, args: unknown): string | undefined {
  const { thread_id, checkpoint_ns, __pregel_scratchpad: run } = call.configurable
  if (thread_id === undefined || checkpoint_ns === undefined) return undefined
  const { agent_id, action, resource } = request
  const named = JSON.stringify([thread_id, checkpoint_ns, call.id, agent_id, action, resource, variantOf(call, args)])
  return createHash('sha256')
    .update(`${turnOf(run, named)} ${named}`)
    .digest('hex')
}

function turnOf(run: unknown, named: string): number {
  if (typeof run !== 'object' || run === null) return 0
  const turns = asked.get(run) ?? new Map<string, number>()
  const turn = turns.get(named) ?? 0
  asked.set(run, turns.set(named, turn + 1))
  return turn
}

/** Identifies a tool with all of its arguments: an approval is for exactly these. */
export function variantOf({ name }: GuardedToolCall, args: unknown): string {
  return createHash('sha256')
    .update(`${JSON.stringify(name)} ${textOfData(args)}`)
    .digest('hex')
}
