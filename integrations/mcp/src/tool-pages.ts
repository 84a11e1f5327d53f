/** Reads a server's tool list page by page, within limits. */
import { within } from './deadline.js'

/** The result of `tools/list`, as a server has given it. */
export interface ToolListPage {
  readonly [member: string]: unknown
  readonly tools?: unknown
  readonly nextCursor?: unknown
}

/** Asks a server for a page of its own, unfiltered list: the first one, or the one that a cursor stands for. */
export type ListTools = (cursor?: string) => Promise<ToolListPage>

const MAX_PAGES = 100
const MAX_TOOLS = 10_000
/** For the whole list, in milliseconds. */
const LIST_MS = 30_000

/**
 * All tools of a server, as it shows them: nothing of them is checked.
 *
 * @throws Error for a value that is not a list, and for a list without an end: with more than 100 pages or 10,000 tools, after 30
 * seconds, or with a repeated cursor; and what `list` throws
 */
export function allTools(list: ListTools): Promise<unknown[]> {
  return within(LIST_MS, collected(list), `The server did not list all its tools within ${LIST_MS / 1_000} s.`)
}

/** The tools of a page, which may be any value. */
export function toolsOfPage(page: unknown): readonly unknown[] {
  const { tools } = Object(page ?? {}) as ToolListPage
  return Array.isArray(tools) ? tools : []
}

/** Undefined for a value that is not a tool. */
export function toolName(tool: unknown): string | undefined {
  const { name } = Object(tool ?? {}) as { name?: unknown }
  return typeof name === 'string' ? name : undefined
}

async function collected(list: ListTools): Promise<unknown[]> {
  const tools: unknown[] = []
  const cursors = new Set<string>()
  let cursor: string | undefined
  for (let pages = 1; pages <= MAX_PAGES; pages += 1) {
    const page = Object((await list(cursor)) ?? {}) as ToolListPage
    if (!Array.isArray(page.tools)) throw new Error('The server answered tools/list without a list of tools.')
    for (const tool of page.tools) tools.push(tool)
    if (tools.length > MAX_TOOLS) throw new Error(`The server shows more than ${MAX_TOOLS} tools.`)
    cursor = cursorOf(page)
    if (cursor === undefined) return tools
    if (cursors.has(cursor)) throw new Error('The tool list does not end: the server sent the same cursor twice.')
    cursors.add(cursor)
  }
  throw new Error(`The tool list has more than ${MAX_PAGES} pages.`)
}

/** An empty one stands for no further page, as in the clients of the SDKs. */
function cursorOf({ nextCursor }: ToolListPage): string | undefined {
  if (nextCursor === undefined || nextCursor === null || nextCursor === '') return undefined
  if (typeof nextCursor === 'string') return nextCursor
  throw new Error('A cursor of the tool list is not a string.')
}
