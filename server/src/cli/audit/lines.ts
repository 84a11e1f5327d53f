import { IncompleteError, TamperedError } from '@countersign/audit-log'

/** No entry is nearly as long. */
const MAX_LINE_BYTES = 16 * 1024 * 1024
const NEWLINE = 0x0a

/**
 * The lines of an export, without their newlines.
 *
 * @throws IncompleteError behind the last whole line, when more comes without a newline: the export was cut off there
 * @throws TamperedError at a line that is longer than any that a server writes
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let line = 1
  let rest: Uint8Array = new Uint8Array()
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = bytes.indexOf(NEWLINE, rest.length); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      yield bytes.subarray(start, end)
      line += 1
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (rest.length > MAX_LINE_BYTES)
      throw new TamperedError(line, `Line ${line}: It is longer than ${MAX_LINE_BYTES} bytes.`)
  }
  if (rest.length > 0) throw new IncompleteError(`The export ends in the middle of line ${line}.`)
}
