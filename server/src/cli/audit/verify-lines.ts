import { type Checkpoint, ExportVerifier, type TrustedKeys, type VerifiedExport } from '@countersign/audit-log'
import { bytesOf, linesOf } from './lines.js'
import { Progress } from './progress.js'

export interface VerifyLinesOptions {
  readonly keys: TrustedKeys
  /** Checkpoints that were kept elsewhere. */
  readonly kept: readonly Checkpoint[]
}

/**
 * Verifies an export while it arrives, and passes on each line that is valid so far.
 *
 * @throws TamperedError, IncompleteError
 */
export async function verifyLines(
  pieces: AsyncIterable<string | Uint8Array>,
  { keys, kept }: VerifyLinesOptions,
  onLine: (line: Uint8Array) => Promise<void>,
): Promise<VerifiedExport> {
  const verifier = new ExportVerifier({ ...keys, kept })
  const progress = new Progress(null)
  try {
    await addLines(verifier, bytesOf(pieces), progress, onLine)
    return verifier.end()
  } finally {
    progress.end()
  }
}

/** Adds line by line. @throws TamperedError, IncompleteError */
export async function addLines(
  verifier: ExportVerifier,
  chunks: AsyncIterable<Uint8Array>,
  progress: Progress,
  onLine: (line: Uint8Array) => Promise<void> = async () => {},
): Promise<void> {
  let bytes = 0
  for await (const line of linesOf(chunks)) {
    await verifier.add(line)
    await onLine(line)
    bytes += line.length + 1
    progress.at(verifier.lines, bytes)
  }
}
