/** The messages between a log and a witness. Source: C2SP tlog-witness. */
import { toBase64 } from './base64.js'
import {
  isKeyOf,
  NoteError,
  type NoteKey,
  noteText,
  parseNote,
  SIGNATURE_TYPES,
  type VerifyEd25519,
  verifyNote,
} from './note.js'
import { type Hash, isSize } from './tree.js'

export interface AddCheckpoint {
  /** The size of the checkpoint that the witness cosigned last; 0 for none. */
  readonly oldSize: number
  /** Proves that the checkpoint extends that size; empty for 0. */
  readonly proof: readonly Hash[]
  /** The signed note. */
  readonly checkpoint: string
}

/** Returns the body of a POST to `<witness>/add-checkpoint`. */
export function addCheckpointBody({ oldSize, proof, checkpoint }: AddCheckpoint): string {
  return `${[`old ${oldSize}`, ...proof.map(toBase64)].join('\n')}\n\n${checkpoint}`
}

/**
 * Reads the size that the witness cosigned last, which it returns with 409 for another old size.
 *
 * @throws NoteError when the answer is not a size
 */
export function parseWitnessedSize(answer: string): number {
  const size = Number(/^(0|[1-9]\d*)\n$/.exec(answer)?.[1] ?? Number.NaN)
  if (!isSize(size)) throw new NoteError('The witness did not answer with the size that it has.')
  return size
}

/**
 * The checkpoint with the cosignatures of the witness beneath it. Those of keys that are not known are left out.
 *
 * @param checkpoint the signed note
 * @param answer of the witness: lines of signatures
 * @param keys of the witness
 * @throws NoteError when none of these keys has cosigned it, or one of them something else
 */
export async function addCosignatures(
  checkpoint: string,
  answer: string,
  keys: readonly NoteKey[],
  verify: VerifyEd25519,
): Promise<string> {
  const { text, signatures } = parseNote(checkpoint)
  const witnesses = keys.filter(({ type }) => type === SIGNATURE_TYPES.cosignature)
  const answered = parseNote(`${text}\n${answer}`)
  if (answered.text !== text) throw new NoteError('The witness did not answer with lines of signatures alone.')
  const cosignatures = answered.signatures.filter((signature) => witnesses.some((key) => isKeyOf(key, signature)))
  await verifyNote({ text, signatures: cosignatures }, witnesses, verify)
  return noteText({ text, signatures: [...signatures, ...cosignatures] })
}
