import { canonicalEntry, checkpointLine } from '@countersign/audit-log'
import type { LogEnd } from '@countersign/store-port/feed'
import { type Store, StoreUnavailableError } from '@countersign/store-port/store'
import { readTrees } from './checkpoints.js'
import type { TreeReads } from './tree-hashes.js'
import type { KeptTrees, SignedCheckpoint } from './trees.js'

export interface ExportDeps {
  readonly store: { readonly feed: Pick<Store['feed'], 'listLogs'> & Omit<TreeReads, 'findNodes'> }
  /** Waits until every entry that is durable now is under a checkpoint, or for as long as the caller may wait. */
  readonly catchUp: (isDone: () => Promise<boolean>) => Promise<void>
}

/** The audit logs as of one checkpoint of the root log. */
export interface AuditExport {
  /** The signed note of that checkpoint. */
  readonly root: string
  /** How many entries were durable when the export began, and are under no checkpoint yet. It does not have them. */
  readonly entriesBehind: number
  /** The lines, several in each piece, as `ExportVerifier` of `@countersign/audit-log` takes them. */
  readonly pieces: AsyncIterable<string>
}

/** So much is read and made into text at a time. */
const PIECE_ENTRIES = 256
const PIECE_BYTES = 256 * 1024

/**
 * Exports the audit logs of all processes: each checkpoint in the order of the root log, that of the root log itself, and the
 * entries log by log. What is appended meanwhile is not in it.
 *
 * @param between awaited often: others get their turn, and it throws when the export is to end
 * @throws StoreUnavailableError, also from `pieces` when something of it is not there: nothing more of it comes then
 */
export async function exportLogs(
  { store: { feed }, catchUp }: ExportDeps,
  between: () => Promise<void>,
): Promise<AuditExport> {
  const ends = await feed.listLogs()
  const countBehind = async () => entriesBehind(ends, sizesOf((await readTrees(feed)).logs))
  if ((await countBehind()) > 0) await catchUp(async () => (await countBehind()) === 0)
  const { logs, root } = await readTrees(feed)
  const sizes = sizesOf(logs)
  if (root.checkpoint === null)
    throw new StoreUnavailableError('No checkpoint was made yet. The server makes the first one soon after it starts.')
  return {
    root: root.checkpoint.note,
    entriesBehind: entriesBehind(ends, sizes),
    pieces: piecesOf(feed, root.checkpoint, sizes, between),
  }
}

/** By log: how many entries. */
type Sizes = ReadonlyMap<string, number>

/** Of the newest checkpoint of each log. */
function sizesOf(logs: KeptTrees['logs']): Sizes {
  return new Map(Object.entries(logs).map(([log, { checkpoint }]) => [log, checkpoint?.size ?? 0]))
}

function entriesBehind(ends: readonly LogEnd[], sizes: Sizes): number {
  return ends.reduce((sum, { log, next_index }) => sum + Math.max(0, next_index - (sizes.get(log) ?? 0)), 0)
}

async function* piecesOf(
  feed: ExportDeps['store']['feed'],
  root: SignedCheckpoint,
  sizes: Sizes,
  between: () => Promise<void>,
): AsyncGenerator<string> {
  const checkpoints = (from: number, limit: number) => feed.listCheckpoints(from, limit)
  for await (const page of pagesOf('root log', root.size, checkpoints, between))
    yield linesOf(page.map(({ note }) => checkpointLine(note)))
  yield linesOf([checkpointLine(root.note)])
  for (const [log, size] of [...sizes].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const entries = (from: number, limit: number) => feed.readLog(log, from, limit, PIECE_BYTES)
    for await (const page of pagesOf(`log ${log}`, size, entries, between)) {
      const lines: string[] = []
      for (const entry of page) {
        lines.push(new TextDecoder().decode(canonicalEntry(entry)))
        await between()
      }
      yield linesOf(lines)
    }
  }
}

/** @throws StoreUnavailableError when one is missing: an export with a gap would look as if somebody had removed it */
async function* pagesOf<T extends { readonly index: number }>(
  name: string,
  size: number,
  read: (from: number, limit: number) => Promise<readonly T[]>,
  between: () => Promise<void>,
): AsyncGenerator<readonly T[]> {
  for (let from = 0; from < size; ) {
    const page = await read(from, Math.min(PIECE_ENTRIES, size - from))
    if (page.length === 0 || page.some(({ index }, i) => index !== from + i))
      throw new StoreUnavailableError(
        `The ${name} has ${size} entries, and entry ${from} or one soon after it is missing.`,
      )
    await between()
    yield page
    from += page.length
  }
}

function linesOf(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
