import { CONTEXT_KEY_PATTERN, isContextKey } from './context.js'

/** Paths that every request has, besides the `context.` and `agent.` paths. */
export const FIXED_PATHS = [
  'agent_id',
  'action',
  'resource',
  'resource.type',
  'resource.id',
  'now.hour',
  'now.weekday',
] as const
/** A path that names a single fact. */
export type FixedPath = (typeof FIXED_PATHS)[number]

/** Whether the text is one of {@link FIXED_PATHS}. */
export function isFixedPath(text: string): text is FixedPath {
  return (FIXED_PATHS as readonly string[]).includes(text)
}

function isFieldPath(root: 'context' | 'agent', text: string): boolean {
  return (
    text.startsWith(`${root}.`) &&
    text
      .slice(root.length + 1)
      .split('.')
      .every(isContextKey)
  )
}

/** `context.<field>(.<field>)*`: a fact that the caller gives. */
export function isContextPath(text: string): boolean {
  return isFieldPath('context', text)
}

/** `agent.<field>(.<field>)*`: a fact from the agent's metadata. */
export function isAgentPath(text: string): boolean {
  return isFieldPath('agent', text)
}

const fieldPathPattern = (root: string) => `${root}(\\.${CONTEXT_KEY_PATTERN})+`

/** {@link isPath}, {@link isContextPath} and {@link isAgentPath} as far as JSON Schema can tell. */
export const PATH_PATTERNS = {
  any: `^(${FIXED_PATHS.map((path) => path.replace('.', '\\.')).join('|')}|${fieldPathPattern('(context|agent)')})$`,
  context: `^${fieldPathPattern('context')}$`,
  agent: `^${fieldPathPattern('agent')}$`,
} as const

/** Whether a condition or a `$ref` may name this path. */
export function isPath(text: string): boolean {
  return isFixedPath(text) || isContextPath(text) || isAgentPath(text)
}
