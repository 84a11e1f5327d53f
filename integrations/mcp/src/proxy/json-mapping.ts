/** Turns a tool of the configuration file into a mapping, and fills its templates, such as `file:{path}`. */
import { DeniedError } from '@countersign/client'
import { memberAt, nameTemplate, type ToolArguments } from '@countersign/client/kernel'
import type { GatedCall, ToolMapping } from '../calls/call.js'
import { ExactNumber } from '../json/exact-number.js'

/** What a call of one tool is about. */
export interface MappedTool {
  /** `{name}` stands for the argument of that name, as one word of the action. */
  readonly action: string
  /** `<type>:<id>`, with `{name}` for arguments. Null for none. Absent if the URI or the name is the resource. */
  readonly resource?: string | null | undefined
  /** The names of the arguments that conditions may read, or all of them. Absent arguments are left out. */
  readonly context?: readonly string[] | 'arguments' | undefined
}

/** @throws TypeError for a template that can never be filled */
export function toolMapping({ action, resource, context }: MappedTool): ToolMapping {
  return {
    action: fromTemplate('action', action),
    ...(resource !== undefined && { resource: resource === null ? null : fromTemplate('resource', resource) }),
    ...(context !== undefined && { context: (args) => contextOf(args, context) }),
  }
}

function contextOf(args: ToolArguments, wanted: readonly string[] | 'arguments'): Record<string, unknown> {
  const isWanted = (name: string): boolean => wanted === 'arguments' || wanted.includes(name)
  // A call without arguments has them undefined.
  return Object.fromEntries(Object.entries(args).filter(([name, value]) => isWanted(name) && value !== undefined))
}

const PATH = /^[^\s.{}]+(?:\.[^\s.{}]+)*$/

const SYNTAX = {
  placeOf: (text: string) => (PATH.test(text) ? text.split('.') : undefined),
  help: 'write {name}, or {name.member} for a member of an object',
}

/**
 * Compiles a template to a function of the arguments, and of the call, which may have other digits for a number. The function throws
 * a DeniedError (`question_refused`) that names the faulty argument. A text without placeholders is returned unchanged.
 *
 * @throws TypeError for invalid placeholders, and for placeholders with nothing between them
 */
export function fromTemplate(
  member: 'action' | 'resource',
  text: string,
): string | ((args: ToolArguments, call?: Pick<GatedCall, 'written'>) => string) {
  const template = nameTemplate(member, text, SYNTAX)
  if (template === undefined) return text
  // The fault may be in the template, so the operator is warned.
  const whyMissing = (_path: unknown, place: string) => new TypeError(`${member}: the call has no argument ${place}`)
  return (args, call) => {
    const read = (path: readonly string[]): unknown => {
      const value = memberAt(args, path)
      const written = memberAt(call?.written, path)
      if (typeof value === 'number' && (written instanceof ExactNumber || String(value).includes('e')))
        throw manySpellings(member, path, String(written ?? value), value)
      return value
    }
    return template.fill(read, whyMissing)
  }
}

/** The tool receives the client's spelling of the number, and could act on another text than the decision is about. */
function manySpellings(member: string, path: readonly string[], written: string, value: number): DeniedError {
  const plain = String(value)
  const way = plain.includes('e') || plain === written ? 'as a string' : `as ${plain}, or as a string`
  return new DeniedError('question_refused', {
    detail: `The ${member} of this call comes from {${path.join('.')}}, which is the number ${written.slice(0, 40)}: send it ${way}.`,
  })
}
