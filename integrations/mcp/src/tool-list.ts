/** Filters the tool list that a client sees. Hiding enforces nothing: the gate checks each call. */
import type { ToolGate } from './gate-options.js'
import type { Caller } from './gated-call.js'
import { settingsFor } from './gated-tool-call.js'
import { ambiguousMember } from './json-rpc.js'
import { DEFINING_MEMBERS, type ToolDefinitions } from './tool-definitions.js'
import { type ToolListPage, toolName, toolsOfPage } from './tool-pages.js'

const PAGE_MEMBERS = ['tools', 'nextCursor', 'cacheScope']

/**
 * The server's page of the tool list, filtered for this caller. Never rejects.
 *
 * @param definitions of this server: they note what it shows
 */
export async function shownTools(
  gate: ToolGate,
  definitions: ToolDefinitions,
  page: ToolListPage,
  caller: Caller,
): Promise<ToolListPage> {
  definitions.note(page)
  const { hidden, pinned, naming } = gate
  if (naming.mode === 'observe' || (hidden === null && pinned.size === 0)) return page
  const given = toolsOfPage(page)
  const sound = given.filter((tool) => {
    const name = toolName(tool)
    return name !== undefined && isClear(tool, DEFINING_MEMBERS) && !definitions.isFaulty(name)
  })
  const call = { ...caller, name: '' }
  const tools = hidden === null ? sound : await hidden.without(sound, call, settingsFor(gate, caller).agentId)
  const isForAll = hidden === null && tools.length === given.length
  // Another agent may be shown other tools.
  const scope = page.cacheScope === undefined || isForAll ? {} : { cacheScope: 'private' }
  const rest = Object.entries(page).filter(([name]) => isClear({ [name]: null }, PAGE_MEMBERS))
  return { ...Object.fromEntries(rest), tools, ...scope }
}

/** Programs in Go read `Tools` as `tools`: then they would be shown what was left out. */
function isClear(value: unknown, known: readonly string[]): boolean {
  return typeof value === 'object' && value !== null && ambiguousMember(value, known) === undefined
}
