/** Explains kept checkpoints of the root log that are newer than the state to which the store was restored. */
import {
  type Checkpoint,
  IncompleteError,
  lostWithRestore,
  ProofError,
  parseExportLine,
  parseHash,
  rootOfOrigin,
  verifyConsistency,
} from '@countersign/audit-log'
import type { AuditSource } from './audit-source.js'
import { parseKeptNote } from './kept-notes.js'
import { bytesOf, linesOf } from './lines.js'

/**
 * Returns why the root log does not extend a kept checkpoint, if tampering is not the reason; it matches what `verify
 * --kept` says.
 *
 * @param kept the checkpoints of a file, the newest one last
 * @returns null when the log was changed
 */
export async function whyOlder(
  source: AuditSource,
  kept: readonly Checkpoint[],
  newest: Checkpoint,
): Promise<IncompleteError | null> {
  const last = kept.at(-1)
  if (last === undefined) return null
  const keptOne = { source: `the kept checkpoint of ${last.origin} at ${last.size}`, size: last.size }
  if (rootOfOrigin(last.origin) === rootOfOrigin(newest.origin))
    return last.size > newest.size && (await isBehind(source, lastUpTo(kept, newest)))
      ? new IncompleteError(
          `${keptOne.source} has ${last.size} checkpoints, and this root log ${newest.size}: its store is older, or the end of the root log was removed.`,
        )
      : null
  const former = await lastOfRoot(source, rootOfOrigin(last.origin))
  if (former === null || former.size >= last.size) return null
  const isSound = (await isBehind(source, former)) && (await isBehind(source, lastUpTo(kept, former)))
  return isSound ? new IncompleteError(lostWithRestore(keptOne, former.size)) : null
}

/** Returns the newest checkpoint in a file of the same root log, up to the size of this one. */
function lastUpTo(kept: readonly Checkpoint[], { origin, size }: Checkpoint): Checkpoint | null {
  return kept.findLast((one) => rootOfOrigin(one.origin) === rootOfOrigin(origin) && one.size <= size) ?? null
}

/** Whether the root log extends a checkpoint, if there is one. */
async function isBehind(source: AuditSource, first: Checkpoint | null): Promise<boolean> {
  if (first === null) return true
  const proof = await source.proveRoot(first.size)
  if (proof === null) return false
  try {
    verifyConsistency(first, parseKeptNote(proof.checkpoint).checkpoint, proof.path.map(parseHash))
    return true
  } catch (error) {
    if (error instanceof ProofError) return false
    throw error
  }
}

/**
 * Returns the last checkpoint of a former root log, which is a leaf of the present one. An export begins with all
 * checkpoints.
 */
async function lastOfRoot(source: AuditSource, name: string | null): Promise<Checkpoint | null> {
  let last: Checkpoint | null = null
  for await (const line of linesOf(bytesOf(await source.exportLines()))) {
    const parsed = parseExportLine(line)
    if (parsed.kind !== 'checkpoint') break
    const { checkpoint } = parseKeptNote(parsed.note)
    if (rootOfOrigin(checkpoint.origin) === name) last = checkpoint
  }
  return last
}
