import { IncompleteError, TamperedError } from '@countersign/audit-log'
import { LinesError, linesOf as linesOfStream } from '@countersign/client/kernel'

/**
 * The lines of an export, without their newlines.
 *
 * @throws IncompleteError behind the last whole line, when more comes without a newline: the export was cut off there
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
      : new TamperedError(line, `Line ${line}: It is longer than any that a server writes.`)
  }
}
