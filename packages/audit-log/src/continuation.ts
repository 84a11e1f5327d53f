/** Verifies the answer of `GET /v1/audit/consistency` for a reader that has kept an earlier checkpoint. */
import type { ConsistencyProof } from '@countersign/contract'
import { type Checkpoint, parseCheckpoint } from './checkpoint.js'
import type { TrustedKeys } from './entry-proof.js'
import { NoteError, parseNote, verifyNoteByKeys } from './note.js'
import { isRootOrigin, logOfOrigin } from './origin.js'
import { parseHash } from './proof-file.js'
import { ProofError, verifyConsistency } from './verify.js'

/**
 * Verifies that the newest checkpoint of a log, signed by one of the keys, extends a kept one.
 *
 * @param proof of the same log, from the size of the kept checkpoint on
 * @returns the newest checkpoint
 * @throws ProofError when it does not show that
 */
export async function verifyContinuation(
  kept: Checkpoint,
  { path, checkpoint }: ConsistencyProof,
  { verify, publicKeys }: TrustedKeys,
): Promise<Checkpoint> {
  try {
    const note = parseNote(checkpoint)
    const newest = parseCheckpoint(note.text)
    if (!isOfOneLog(kept, newest)) throw new ProofError(`The proof is for ${newest.origin}, not for ${kept.origin}.`)
    verifyConsistency(kept, newest, path.map(parseHash))
    await verifyNoteByKeys(note, publicKeys, verify)
    return newest
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    throw new ProofError(error.message, { cause: error })
  }
}

/** The issuer may have changed: a log keeps its name. */
function isOfOneLog({ origin: one }: Checkpoint, { origin: other }: Checkpoint): boolean {
  const log = logOfOrigin(one)
  return log === null ? isRootOrigin(one) && isRootOrigin(other) : log === logOfOrigin(other)
}
