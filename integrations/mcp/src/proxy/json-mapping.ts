/** Turns a tool of the configuration file into a mapping. */
import type { ToolArguments } from '@countersign/client/kernel'
import type { ToolMapping } from '../gated-call.js'
import { fromTemplate } from './name-template.js'

/** What a call of one tool is about. */
export interface MappedTool {
  /** With `{name}` for the argument of that name: one word of the action. */
  readonly action: string
  /** `<type>:<id>`, with `{name}` for arguments; null for none. */
  readonly resource: string | null
  /** The names of the arguments that conditions may read, or all of them. An argument that a call leaves out is left out here. */
  readonly context?: readonly string[] | 'arguments' | undefined
}

/** @throws TypeError for a template that could never name anything */
export function toolMapping({ action, resource, context }: MappedTool): ToolMapping {
  return {
    action: fromTemplate('action', action),
    resource: resource === null ? null : fromTemplate('resource', resource),
    ...(context !== undefined && { context: (args) => contextOf(args, context) }),
  }
}

function contextOf(args: ToolArguments, wanted: readonly string[] | 'arguments'): Record<string, unknown> {
  const isWanted = (name: string): boolean => wanted === 'arguments' || wanted.includes(name)
  // A call without arguments has them undefined.
  return Object.fromEntries(Object.entries(args).filter(([name, value]) => isWanted(name) && value !== undefined))
}
