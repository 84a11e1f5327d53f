import {
  type Checkpoint,
  NoteError,
  ProofError,
  parseCheckpoint,
  parseNote,
  type TrustedKeys,
  verifyContinuation,
  verifyNoteByKeys,
} from '@countersign/audit-log'
import { ConsistencyProofSchema } from '@countersign/contract'
import { usageError } from '../exit.js'
import { readJson, readText } from './input.js'
import { parseKeptNote, parseKeptNotes } from './kept-notes.js'
import { type Finding, findingOf } from './verdict.js'

export interface VerifyCheckpointsOptions {
  readonly from: string
  readonly to: string | undefined
  readonly proof: string | undefined
  readonly keys: TrustedKeys
}

/** Verifies that a checkpoint extends an earlier one: everything that was in the log then is still there. */
export async function verifyCheckpoints({ from, to, proof: file, keys }: VerifyCheckpointsOptions): Promise<Finding> {
  const proof =
    file === undefined ? null : await readJson(file, ConsistencyProofSchema, 'a response of /v1/audit/consistency')
  const earlier = await lastNote(from)
  const later = to === undefined ? proof?.checkpoint : await lastNote(to)
  if (later === undefined) throw usageError('Name the later checkpoint with --to, or give --proof.')
  try {
    const first = await signed(earlier, keys)
    if (proof === null && parseKeptNote(later).checkpoint.size > first.size)
      throw usageError(`Give --proof: the response of /v1/audit/consistency?from=${first.size}.`)
    // Checkpoints of one size need no path.
    const { log, path } = proof ?? { log: null, path: [] }
    const second = await verifyContinuation(first, { log, from: first.size, path, checkpoint: later }, keys)
    return {
      result: 'intact',
      lines: [`${second.origin} at ${second.size} continues from ${first.size}.`],
      details: { origin: second.origin, from: first.size, to: second.size },
    }
  } catch (error) {
    return findingOf(error instanceof NoteError ? new ProofError(error.message, { cause: error }) : error)
  }
}

/** A file of kept checkpoints may have several: the last one is used. */
async function lastNote(file: string): Promise<string> {
  const note = parseKeptNotes(await readText(file), file).at(-1)?.note
  if (note === undefined) throw usageError(`${file} has no checkpoint.`)
  return note
}

/** @throws NoteError */
async function signed(note: string, { publicKeys, verify }: TrustedKeys): Promise<Checkpoint> {
  const parsed = parseNote(note)
  await verifyNoteByKeys(parsed, publicKeys, verify)
  return parseCheckpoint(parsed.text)
}
