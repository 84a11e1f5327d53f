import {
  type Checkpoint,
  isRootOrigin,
  logOfOrigin,
  NoteError,
  ProofError,
  parseCheckpoint,
  parseNote,
  verifyContinuation,
  verifyNoteByKeys,
} from '@countersign/audit-log'
import type { ConsistencyProof, Jwks } from '@countersign/contract'
import { trustedKeys } from './ed25519'

/** The note of a saved checkpoint. */
export interface KeptNote extends Checkpoint {
  /** Null for the root log. */
  readonly log: string | null
  /** Whether a currently published key has signed it. */
  readonly isSigned: boolean
}

/** @returns null when the text is not a checkpoint note of an audit log @throws CannotVerifyError */
export async function readKeptNote(text: string, jwks: Jwks): Promise<KeptNote | null> {
  try {
    const note = parseNote(`${text.trim()}\n`)
    const checkpoint = parseCheckpoint(note.text)
    const log = logOfOrigin(checkpoint.origin)
    if (log === null && !isRootOrigin(checkpoint.origin)) return null
    const { verify, publicKeys } = trustedKeys(jwks)
    const isSigned = await verifyNoteByKeys(note, publicKeys, verify).then(() => true, ifNot(NoteError, false))
    return { ...checkpoint, log, isSigned }
  } catch (error) {
    return ifNot(NoteError, null)(error)
  }
}

/**
 * Returns the newest checkpoint of the log that a saved note belongs to.
 *
 * @param proof the server's proof, starting at the size of the note
 * @returns null when the proof does not show that the log continues from the note
 * @throws CannotVerifyError
 */
export function newestAfter(kept: KeptNote, proof: ConsistencyProof, jwks: Jwks): Promise<Checkpoint | null> {
  return verifyContinuation(kept, proof, trustedKeys(jwks)).catch(ifNot(ProofError, null))
}

/** Returns a handler that turns errors of this kind into the value, and throws others. */
function ifNot<Value>(kind: new (...args: never[]) => Error, value: Value): (error: unknown) => Value {
  return (error) => {
    if (!(error instanceof kind)) throw error
    return value
  }
}
