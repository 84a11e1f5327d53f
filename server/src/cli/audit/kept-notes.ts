/** A file of checkpoints that a third party keeps: signed notes, one after another. */
import {
  type Checkpoint,
  type NoteKey,
  parseCheckpoint,
  parseNote,
  type VerifyEd25519,
  verifyNote,
} from '@countersign/audit-log'
import { failure } from '../exit.js'
import { readText } from './input.js'

export interface KeptNote {
  readonly note: string
  readonly checkpoint: Checkpoint
}

/** A text, an empty line, and the lines of its signatures. Empty lines between notes are skipped. */
const NOTE = /\n*((?:(?!— )[^\n]+\n)+\n(?:— [^\n]+\n)+)/uy

/** Does not verify the signatures. @throws NoteError when it is not a signed checkpoint */
export function parseKeptNote(note: string): KeptNote {
  return { note, checkpoint: parseCheckpoint(parseNote(note).text) }
}

/** @throws CommandError when a part of the file is not a signed checkpoint */
export function parseKeptNotes(text: string, file: string): KeptNote[] {
  const kept: KeptNote[] = []
  NOTE.lastIndex = 0
  for (let end = 0; text.slice(end).trim() !== ''; end = NOTE.lastIndex) {
    NOTE.lastIndex = end
    const note = NOTE.exec(text)?.[1]
    try {
      if (note === undefined) throw new Error('It is not a signed note.')
      kept.push(parseKeptNote(note))
    } catch (cause) {
      const { message } = cause as Error
      throw failure(`Checkpoint ${kept.length + 1} in ${file}: ${message}`, cause)
    }
  }
  return kept
}

/**
 * Reads the checkpoints of a file, at least one, because an empty file would look like a passed check.
 *
 * @param witnesses one of them must have cosigned each checkpoint; when there are none, the file alone is trusted
 * @throws CommandError
 */
export async function readKeptNotes(
  file: string,
  witnesses: readonly NoteKey[],
  verify: VerifyEd25519,
): Promise<KeptNote[]> {
  const kept = parseKeptNotes(await readText(file), file)
  if (kept.length === 0)
    throw failure(
      `${file} has no checkpoint, so nothing can be compared with it. Get a copy that has one, or omit --kept.`,
    )
  for (const [i, { note }] of witnesses.length > 0 ? kept.entries() : []) {
    try {
      await verifyNote(parseNote(note), witnesses, verify)
    } catch (cause) {
      const { message } = cause as Error
      throw failure(`Checkpoint ${i + 1} in ${file}: ${message}`, cause)
    }
  }
  return kept
}
