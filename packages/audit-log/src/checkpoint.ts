/** Checkpoints: the size of a log and its root, in the text that its server signs. Source: C2SP tlog-checkpoint. */
import { fromBase64, toBase64 } from './base64.js'
import { NoteError } from './note.js'
import { HASH_BYTES, type Hash, isSize } from './tree.js'

export interface Checkpoint {
  /** Identifies the log. */
  readonly origin: string
  readonly size: number
  readonly root: Hash
}

/** Returns the text of a note. */
export function checkpointText({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${toBase64(root)}\n`
}

/**
 * @param text of a note
 * @throws NoteError when it is not a checkpoint, or has lines that cannot be checked
 */
export function parseCheckpoint(text: string): Checkpoint {
  const [origin = '', digits = '', encoded = '', ...more] = text.split('\n')
  if (more.length !== 1 || more[0] !== '') throw new NoteError('A checkpoint has three lines: origin, size and root.')
  if (origin === '' || /[\s+]/u.test(origin))
    throw new NoteError('The origin of a checkpoint has no spaces and no plus.')
  const size = Number(digits)
  if (!/^(0|[1-9]\d*)$/.test(digits) || !isSize(size)) throw new NoteError('The size of a checkpoint is not a number.')
  const root = fromBase64(encoded)
  if (root?.length !== HASH_BYTES) throw new NoteError('The root of a checkpoint is not a hash in base64.')
  return { origin, size, root }
}
