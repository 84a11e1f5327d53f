/** Reads server-sent events from one side and writes them for the other. */
import { createParser } from 'eventsource-parser'
import { AnswerTooLarge } from '../../messages/answer-errors.js'

export type StreamPart =
  | {
      readonly kind: 'event'
      readonly id?: string | undefined
      readonly event?: string | undefined
      readonly data: string
    }
  | { readonly kind: 'retry'; readonly milliseconds: number }
  | { readonly kind: 'comment'; readonly text: string }

/**
 * The parts of a stream, in order. An incomplete last event is ignored.
 *
 * @throws what `source` throws; AnswerTooLarge for more than `maxBytes` without the end of an event
 */
export async function* streamParts(source: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<StreamPart> {
  const parts: StreamPart[] = []
  const parser = createParser({
    onEvent: (event) => parts.push({ kind: 'event', ...event }),
    onRetry: (milliseconds) => parts.push({ kind: 'retry', milliseconds }),
    onComment: (text) => parts.push({ kind: 'comment', text }),
  })
  const decoder = new TextDecoder()
  // The parser scans an unfinished line again with each chunk, so it gets whole lines. Otherwise a long line would take quadratic
  // time.
  let unfinished: string[] = []
  let bytes = 0
  let endsInReturn = false
  for await (const chunk of source) {
    let text = decoder.decode(chunk, { stream: true })
    // A carriage return ends its line immediately, even at the end of a chunk. A newline at the start of the next chunk belongs to
    // it.
    if (endsInReturn && text !== '') text = text.replace(/^\n/, '')
    endsInReturn = text === '' ? endsInReturn : text.endsWith('\r')
    bytes += chunk.length
    const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r')) + 1
    if (end > 0) {
      parser.feed(unfinished.join('') + text.slice(0, end).replace(/\r\n?/g, '\n'))
      unfinished = []
      if (parts.some(({ kind }) => kind === 'event')) bytes = text.length - end
    }
    unfinished.push(text.slice(end))
    if (bytes > maxBytes) throw new AnswerTooLarge(`${maxBytes} bytes`)
    yield* parts.splice(0)
  }
}

/** An event with a message. Without data it only marks where the stream can be resumed. */
export function eventText(data: string, id?: string): string {
  const lines = [
    ...(data === '' ? [] : ['event: message']),
    ...(id === undefined ? [] : [`id: ${id}`]),
    `data: ${data}`,
  ]
  return `${lines.join('\n')}\n\n`
}

export function retryText(milliseconds: number): string {
  return `retry: ${milliseconds}\n\n`
}

export function commentText(text: string): string {
  return `: ${text}\n\n`
}
