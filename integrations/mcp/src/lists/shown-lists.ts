/** Filters the lists that a client sees. Hiding enforces nothing: the gate asks about each call and each read. */
import type { Caller } from '../calls/call.js'
import { agentIdFor } from '../calls/run-call.js'
import type { ToolGate } from '../gate-options.js'
import { ambiguousMember, isObject, type ResponseMessage } from '../messages/json-rpc.js'
import { TASK_LIST, TOOL_CALL } from '../rules/methods.js'
import { faultOfUri } from '../rules/resource-uri.js'
import { DEFINING_MEMBERS, type ToolDefinitions } from './tool-definitions.js'
import { type ToolListPage, toolName, toolsOfPage } from './tool-pages.js'

/** The member of the result that is the list, by method. */
export const LISTS: ReadonlyMap<string, ListMember> = new Map([
  ['tools/list', 'tools'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resourceTemplates'],
  ['prompts/list', 'prompts'],
])

export type ListMember = 'tools' | 'resources' | 'resourceTemplates' | 'prompts'
type OtherList = Exclude<ListMember, 'tools'>

type Page = Readonly<Record<string, unknown>>

/** An entry that may be shown. */
interface Listed {
  readonly entry: unknown
  /** The action by which the entry is hidden. Undefined if it depends on the call. */
  readonly name: string | undefined
}

/** Which list a result is. Undefined for any other result. */
export function listIn(result: unknown): ListMember | undefined {
  return isObject(result) ? [...LISTS.values()].find((member) => Array.isArray(result[member])) : undefined
}

const TOOL_PAGE_MEMBERS = ['tools', 'nextCursor', 'cacheScope']

/**
 * The server's page of the tool list, filtered for this caller. Never rejects.
 *
 * @param definitions the definitions of this server, which note the page
 */
export async function shownTools(
  gate: ToolGate,
  definitions: ToolDefinitions,
  page: ToolListPage,
  caller: Caller,
): Promise<ToolListPage> {
  definitions.note(page)
  const { hidden, pinned, point } = gate
  if (point.mode === 'observe' || (hidden === null && pinned.size === 0)) return page
  const given = toolsOfPage(page)
  const sound = given.filter((tool) => {
    const name = toolName(tool)
    return name !== undefined && isClear(tool, DEFINING_MEMBERS) && !definitions.isFaulty(name)
  })
  const call = { ...caller, method: TOOL_CALL, name: '' }
  const tools = hidden === null ? sound : await hidden.without(sound, call, agentIdFor(gate, caller))
  const isForAll = hidden === null && tools.length === given.length
  // Another agent may see other tools.
  const scope = page.cacheScope === undefined || isForAll ? {} : { cacheScope: 'private' }
  return { ...withoutLookAlikes(page, TOOL_PAGE_MEMBERS), tools, ...scope }
}

/** Programs in Go read `Tools` as `tools`, and would show the tools that were left out. */
function isClear(value: unknown, known: readonly string[]): boolean {
  return typeof value === 'object' && value !== null && ambiguousMember(value, known) === undefined
}

/** The server's page of another list, filtered for this caller. Never rejects. */
export async function shownList(gate: ToolGate, member: OtherList, page: Page, caller: Caller): Promise<Page> {
  const { hiddenActions, point } = gate
  const method = member === 'prompts' ? 'prompts/get' : 'resources/read'
  if (hiddenActions === null || point.mode === 'observe') return page
  const entries = Array.isArray(page[member]) ? page[member] : []
  const open = new Set(entries.filter((entry) => isOpen(gate, member, method, entry, caller)))
  const listed = entries
    .filter((entry) => !open.has(entry))
    .flatMap((entry) => listedAs(gate, member, method, entry, caller))
  const call = { ...caller, method, name: '' }
  const possible = await hiddenActions.without(listed, call, agentIdFor(gate, caller))
  const shown = new Set(possible.map(({ entry }) => entry))
  const left = entries.filter((entry) => open.has(entry) || shown.has(entry))
  const scope = page.cacheScope === undefined ? {} : { cacheScope: 'private' }
  return { ...withoutLookAlikes(page, [member, 'nextCursor', 'cacheScope']), [member]: left, ...scope }
}

/** A page of the list of tasks with the tasks of this client only. */
export function ownTasks({ rules, permittedTasks, point }: ToolGate, client: string, page: unknown): unknown {
  if (!isObject(page) || point.mode === 'observe' || rules.isOpen(TASK_LIST)) return page
  const tasks = Array.isArray(page.tasks) ? page.tasks : []
  const own = tasks.filter((task) => permittedTasks.has(client, Object(task).taskId))
  return { ...withoutLookAlikes(page, ['tasks', 'nextCursor']), tasks: own }
}

/** Programs in Go read `Resources` as `resources`, and would show the entries that were left out. */
function withoutLookAlikes(page: Page, known: readonly string[]): Page {
  return Object.fromEntries(
    Object.entries(page).filter(([name]) => ambiguousMember({ [name]: null }, known) === undefined),
  )
}

function isOpen(gate: ToolGate, member: OtherList, method: string, entry: unknown, caller: Caller): boolean {
  const name = nameOf(member, entry)
  if (gate.rules.isOpen(method)) return true
  return name !== undefined && member !== 'resourceTemplates' && gate.rules.passes({ ...caller, method, name })
}

/** Empty if the entry would be refused under any policy. A template can match several mappings, and is then listed for each. */
function listedAs({ rules }: ToolGate, member: OtherList, method: string, entry: unknown, caller: Caller): Listed[] {
  const name = nameOf(member, entry)
  if (name === undefined || (member === 'resources' && faultOfUri(name) !== undefined)) return []
  const call = { ...caller, method, name }
  const mappings = member === 'resourceTemplates' ? rules.mappingsOfTemplate(name) : [rules.mappingFor(call)]
  return mappings.flatMap((mapping): Listed[] => {
    const action = typeof mapping === 'object' ? mapping.action : mapping
    if (typeof action === 'function') return [{ entry, name: undefined }]
    try {
      return [{ entry, name: rules.actionOf(call, action) }]
    } catch {
      return []
    }
  })
}

function nameOf(member: OtherList, entry: unknown): string | undefined {
  const { uri, uriTemplate, name } = Object(entry ?? {})
  const found = member === 'resources' ? uri : member === 'resourceTemplates' ? uriTemplate : name
  return typeof found === 'string' ? found : undefined
}

type ToClient = (response: ResponseMessage) => void | Promise<void>

/** Relays lists of a server to its client, without the entries that the gate hides. */
export class ListRelay {
  /** Resolves when the client has received the earlier lists. */
  #before: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly gate: ToolGate,
    private readonly definitions: ToolDefinitions,
  ) {}

  /** Lists reach the client in the order in which the server sent them. */
  async show(response: ResponseMessage, caller: Caller, toClient: ToClient): Promise<void> {
    const { hidden, pinned } = this.gate
    const kind = listIn(response.result)
    const isFiltered = hidden !== null || (kind === 'tools' && pinned.size > 0)
    if (!isFiltered || kind === undefined || !isObject(response.result)) return toClient(response)
    const page =
      kind === 'tools'
        ? shownTools(this.gate, this.definitions, response.result, caller)
        : shownList(this.gate, kind, response.result, caller)
    const before = this.#before
    const shown = (async () => {
      await before
      await toClient({ ...response, result: await page })
    })()
    this.#before = shown.catch(() => undefined)
    return shown
  }
}
