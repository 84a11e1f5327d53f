import { canonicalEntry, checkpointLine, problemLine } from '@countersign/audit-log'
import type { LogEnd } from '../../ports/store/audit.js'
import { StoreUnavailableError } from '../../ports/store/errors.js'
import { readTrees } from './checkpoints.js'
import type { TreeReads } from './tree-hashes.js'
import type { KeptTrees, SignedCheckpoint } from './trees.js'

export interface ExportDeps {
  readonly store: TreeReads
  /** Waits until a checkpoint covers every entry that is durable now, or until the caller's wait is over. */
  readonly catchUp: (isDone: () => Promise<boolean>) => Promise<void>
}

/** The audit logs as of one checkpoint of the root log. */
export interface AuditExport {
  /** The signed note of that checkpoint. */
  readonly root: string
  /**
   * The number of entries that were durable when the export began but that no checkpoint covers yet. The export leaves
   * them out.
   */
  readonly entriesBehind: number
  /**
   * The lines, several per piece, as `ExportVerifier` of `@countersign/audit-log` reads them. When the export fails,
   * its last line says why.
   */
  readonly pieces: AsyncIterable<string>
}

/** The number of entries that are read and turned into text at a time. */
const PIECE_ENTRIES = 256
const PIECE_BYTES = 256 * 1024

/**
 * Exports the audit logs of all processes: the checkpoints in the order of the root log, then the checkpoint of the
 * root log itself, then the entries log by log. Entries that are appended during the export are not included.
 *
 * @param between awaited often: it lets other work run, and throws to end the export
 * @throws StoreUnavailableError, also from `pieces` when a part is missing; `pieces` then yields nothing more
 */
export async function exportLogs({ store, catchUp }: ExportDeps, between: () => Promise<void>): Promise<AuditExport> {
  const ends = await store.audit.listLogs()
  const countBehind = async () => entriesBehind(ends, await coveredSizes(store))
  if ((await countBehind()) > 0) await catchUp(async () => (await countBehind()) === 0)
  const { logs, root } = await readTrees(store)
  const sizes = sizesOf(logs)
  if (root.checkpoint === null)
    throw new StoreUnavailableError('No checkpoint was made yet. The server makes the first one soon after it starts.')
  return {
    root: root.checkpoint.note,
    entriesBehind: entriesBehind(ends, sizes),
    pieces: piecesOf(store, root.checkpoint, root.base, sizes, between),
  }
}

/** The number of entries, by log. */
type Sizes = ReadonlyMap<string, number>

/** Returns the size of each log that its newest checkpoint covers. */
export async function coveredSizes(store: Pick<TreeReads, 'readers'>): Promise<Sizes> {
  return sizesOf((await readTrees(store)).logs)
}

function sizesOf(logs: KeptTrees['logs']): Sizes {
  return new Map(Object.entries(logs).map(([log, { checkpoint }]) => [log, checkpoint?.size ?? 0]))
}

function entriesBehind(ends: readonly LogEnd[], sizes: Sizes): number {
  return ends.reduce((sum, { log, next_index }) => sum + Math.max(0, next_index - (sizes.get(log) ?? 0)), 0)
}

async function* piecesOf(...parameters: Parameters<typeof linesFrom>): AsyncGenerator<string> {
  try {
    yield* linesFrom(...parameters)
  } catch (error) {
    if (error instanceof ExportGapError) yield linesOf([problemLine(error.message)])
    throw error
  }
}

async function* linesFrom(
  store: TreeReads,
  root: SignedCheckpoint,
  base: number,
  sizes: Sizes,
  between: () => Promise<void>,
): AsyncGenerator<string> {
  const checkpoints = async (from: number, limit: number) =>
    (await store.trees.listCheckpoints(base + from, limit)).map(({ index, note }) => ({ index: index - base, note }))
  for await (const page of pagesOf({ name: 'root log', of: 'checkpoint' }, root.size, checkpoints, between))
    yield linesOf(page.map(({ note }) => checkpointLine(note)))
  yield linesOf([checkpointLine(root.note)])
  for (const [log, size] of [...sizes].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const entries = (from: number, limit: number) => store.audit.read(log, from, limit, PIECE_BYTES)
    for await (const page of pagesOf({ name: `log ${log}`, of: 'entry' }, size, entries, between)) {
      const lines: string[] = []
      for (const entry of page) {
        lines.push(new TextDecoder().decode(canonicalEntry(entry)))
        await between()
      }
      yield linesOf(lines)
    }
  }
}

/**
 * The store lacks an entry or checkpoint that a checkpoint covers. An export without it would look complete, so it
 * fails. The message names the missing one.
 */
export class ExportGapError extends StoreUnavailableError {}

/** @throws ExportGapError naming the first missing item */
async function* pagesOf<T extends { readonly index: number }>(
  { name, of }: { readonly name: string; readonly of: string },
  size: number,
  read: (from: number, limit: number) => Promise<readonly T[]>,
  between: () => Promise<void>,
): AsyncGenerator<readonly T[]> {
  for (let from = 0; from < size; ) {
    const page = await read(from, Math.min(PIECE_ENTRIES, size - from))
    const gap = page.findIndex(({ index }, i) => index !== from + i)
    const whole = gap === -1 ? page : page.slice(0, gap)
    await between()
    if (whole.length > 0) yield whole
    from += whole.length
    if (whole.length === 0)
      throw new ExportGapError(
        `The ${name} has ${size} ${of === 'entry' ? 'entries' : 'checkpoints'}, and ${of} ${from} is missing.`,
      )
  }
}

function linesOf(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}
