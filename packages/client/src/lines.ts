/** Splits a stream into lines, as bytes: in UTF-8 no other character has a byte that is a newline. */
import { BodyCollector } from './transport.js'

const NEWLINE = 0x0a
/** The longest entry of an audit log is far shorter. */
const MAX_LINE_BYTES = 4 * 1024 * 1024

const FAULTS = { too_long: 'is too long', cut_off: 'was cut off' } as const

/** The stream does not consist of whole lines. */
export class LinesError extends Error {
  constructor(
    /** Starts at 1. */
    readonly line: number,
    readonly fault: keyof typeof FAULTS,
  ) {
    super(`line ${line} ${FAULTS[fault]}`)
  }
}

/**
 * Yields the lines without their newlines.
 *
 * @throws LinesError for a line that is too long, and when the last line has no end
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes = MAX_LINE_BYTES,
): AsyncGenerator<Uint8Array, void, undefined> {
  let number = 1
  let line = new BodyCollector(maxBytes)
  const add = (bytes: Uint8Array): void => {
    if (!line.add(bytes)) throw new LinesError(number, 'too_long')
  }
  for await (const chunk of chunks) {
    let from = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, end))
      yield line.body()
      number += 1
      line = new BodyCollector(maxBytes)
      from = end + 1
    }
    if (from < chunk.length) add(chunk.subarray(from))
  }
  if (line.body().length > 0) throw new LinesError(number, 'cut_off')
}
