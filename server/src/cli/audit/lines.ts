import { IncompleteError, TamperedError } from '@countersign/audit-log'
import { LinesError, linesOf as linesOfStream } from '@countersign/client/text'

/**
 * Yields the lines of an export, without their newlines.
 *
 * @throws IncompleteError after the last whole line, when more text follows without a newline: the export was cut off
 *   there
 * @throws TamperedError at a line that is longer than any that a server writes
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* linesOfStream(chunks)
  } catch (error) {
    if (!(error instanceof LinesError)) throw error
    const { line, fault } = error
    throw fault === 'cut_off'
      ? new IncompleteError(`The export ends in the middle of line ${line}.`)
      : new TamperedError(line, `Line ${line}: It is longer than any line that a server writes.`)
  }
}

/** The pieces of an export, as bytes. */
export async function* bytesOf(pieces: AsyncIterable<string | Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) yield typeof piece === 'string' ? Buffer.from(piece) : piece
}
