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

/** The note of a checkpoint that somebody has kept. */
export interface KeptNote extends Checkpoint {
  /** Null for the root log. */
  readonly log: string | null
  /** Whether a key that is published now has signed it. */
  readonly isSigned: boolean
}

/** @returns null when it is no note of a checkpoint of an audit log @throws CannotVerifyError */
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
 * The newest checkpoint of the log of a kept note.
 *
 * @param proof from the server, from the size of the kept note on
 * @returns null when the proof does not show that the log goes on from the note
 * @throws CannotVerifyError
 */
export function newestAfter(kept: KeptNote, proof: ConsistencyProof, jwks: Jwks): Promise<Checkpoint | null> {
  return verifyContinuation(kept, proof, trustedKeys(jwks)).catch(ifNot(ProofError, null))
}

/** What to make of an error of this kind; others are thrown on. */
function ifNot<Value>(kind: new (...args: never[]) => Error, value: Value): (error: unknown) => Value {
  return (error) => {
    if (!(error instanceof kind)) throw error
    return value
  }
}
