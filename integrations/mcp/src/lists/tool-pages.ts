/** Reads the lists of a server page by page, within limits. */
import { within } from '../deadline.js'

/** A result of `tools/list`, as the server sent it. */
export interface ToolListPage {
  readonly [member: string]: unknown
  readonly tools?: unknown
  readonly nextCursor?: unknown
}

/** Requests a page of the server's unfiltered list: the first page, or the page of a cursor. */
export type ListTools = (cursor?: string) => Promise<ToolListPage>

const MAX_PAGES = 100
const MAX_ENTRIES = 10_000
/** For the whole list, in milliseconds. */
const LIST_MS = 30_000

/**
 * All entries of a list of a server, unchecked.
 *
 * @param member the member of a page that holds its entries, such as `tools`
 * @throws Error for a page without a list, for a list with more than 100 pages or 10,000 entries, for a repeated cursor, and after 30
 * seconds; and what `list` throws
 */
export function allEntries(member: string, list: ListTools): Promise<unknown[]> {
  const late = `The server did not list all its ${member} within ${LIST_MS / 1_000} s.`
  return within(LIST_MS, collected(member, list), late)
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

async function collected(member: string, list: ListTools): Promise<unknown[]> {
  const entries: unknown[] = []
  const cursors = new Set<string>()
  let cursor: string | undefined
  for (let pages = 1; pages <= MAX_PAGES; pages += 1) {
    const page = Object((await list(cursor)) ?? {}) as ToolListPage
    const given = page[member]
    if (!Array.isArray(given)) throw new Error(`The server answered without a list of ${member}.`)
    for (const entry of given) entries.push(entry)
    if (entries.length > MAX_ENTRIES) throw new Error(`The server shows more than ${MAX_ENTRIES} ${member}.`)
    cursor = cursorOf(page)
    if (cursor === undefined) return entries
    if (cursors.has(cursor))
      throw new Error(`The list of ${member} does not end: the server sent the same cursor twice.`)
    cursors.add(cursor)
  }
  throw new Error(`The list of ${member} has more than ${MAX_PAGES} pages.`)
}

/** An empty cursor marks the last page, as in the clients of the SDKs. */
function cursorOf({ nextCursor }: ToolListPage): string | undefined {
  if (nextCursor === undefined || nextCursor === null || nextCursor === '') return undefined
  if (typeof nextCursor === 'string') return nextCursor
  throw new Error('A cursor of the list is not a string.')
}
