/** The tools that a server shows, by name: each with the hash of its definition, or with the reason why it has none. */
import { printable } from '@countersign/client/text'
import { type definitionHash, hashOf } from '../../lists/tool-definitions.js'
import { toolName } from '../../lists/tool-pages.js'

interface ShownTool {
  readonly tool: unknown
  readonly hash: ReturnType<typeof definitionHash>
}

export interface ShownTools {
  /** In the order of the list. */
  readonly sound: ReadonlyMap<string, ShownTool>
  /** Why tools cannot be pinned, by name. These sentences contain no text of the server. */
  readonly unsound: ReadonlyMap<string, string>
  /** The number of entries without a name. */
  readonly nameless: number
}

const SHOWN_TWICE = 'the server shows two tools with this name'
const NO_HASH = 'its definition is ambiguous or cannot be hashed'
/** Names that a configuration file cannot contain. */
export const NO_NAMES: ReadonlyMap<string, string> = new Map([
  ['', 'its name is empty'],
  ['__proto__', 'a configuration file cannot contain this name'],
])

export function shownToolsIn(tools: readonly unknown[]): ShownTools {
  const sound = new Map<string, ShownTool>()
  const unsound = new Map<string, string>()
  let nameless = 0
  for (const tool of tools) {
    const name = toolName(tool)
    const hash = hashOf(tool)
    if (name === undefined) nameless += 1
    else if (sound.has(name)) unsound.set(name, SHOWN_TWICE)
    else if (hash === undefined || NO_NAMES.has(name)) unsound.set(name, NO_NAMES.get(name) ?? NO_HASH)
    else sound.set(name, { tool, hash })
  }
  for (const name of unsound.keys()) sound.delete(name)
  return { sound, unsound, nameless }
}

/** A name of the server in printable form. */
export function printableName(name: string): string {
  return `"${printable(name, 100)}"`
}
