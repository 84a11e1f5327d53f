/**
 * The texts of messages, and their limits. Reading, comparing and writing a message takes time for each byte and each value. Values
 * are counted before anything else is done, so that no message holds up other clients.
 *
 * Source: docs/mcp-methods.md "Limits of a message".
 */
import { parseJson } from '../json/exact-json.js'
import type { TextCounts } from '../json/valid-json.js'
import { AnswerTooLarge } from '../messages/answer-errors.js'
import { type LineForm, MAX_LINE_BYTES } from './stdio/json-lines.js'

/** In one event, or one answer that is not a stream: the limit of a line. */
export const MAX_ANSWER_BYTES = MAX_LINE_BYTES

/** In one message of a client, or one batch. */
const CLIENT = { values: 100_000, oddNumbers: 10_000 }
/** In one message of a server. JSON that is nested deeper can be read, but not written. */
const SERVER = { values: 500_000, levels: 1_000, oddNumbers: 200_000 }

/** Reads the text of a client. `excessOf` says which limit a message, or each message of a batch, exceeds. @throws as `parseJson` */
export function parseClientText(text: string): unknown {
  return parseJson(text, excessOfClient)
}

/** Undefined for anything but JSON. @throws AnswerTooLarge */
export function parsedServerText(text: string): unknown {
  try {
    return parseServerText(text)
  } catch (error) {
    if (error instanceof AnswerTooLarge) throw error
    return undefined
  }
}

/** @throws AnswerTooLarge, and as `parseJson` */
function parseServerText(text: string): unknown {
  return parseJson(text, refuseExcess)
}

/** The lines of the client on standard input. */
export const CLIENT_LINES: LineForm = { parse: parseClientText, tooLong: `A message may have ${MAX_LINE_BYTES} bytes.` }
/** The lines of a server that the proxy starts. */
export const SERVER_LINES: LineForm = { parse: parseServerText, tooLong: `${MAX_LINE_BYTES} bytes` }

function excessOfClient({ values, oddNumbers }: TextCounts): string | undefined {
  if (values > CLIENT.values) return `A message may have ${CLIENT.values} values, and this one has ${values}.`
  if (oddNumbers <= CLIENT.oddNumbers) return undefined
  return `A message may have ${CLIENT.oddNumbers} numbers in another spelling than that of JavaScript, such as 1.0 for 1, and this one has ${oddNumbers}.`
}

function refuseExcess({ values, oddNumbers, levels }: TextCounts): undefined {
  if (values > SERVER.values) throw new AnswerTooLarge(`${SERVER.values} values`)
  if (levels > SERVER.levels) throw new AnswerTooLarge(`${SERVER.levels} levels`)
  if (oddNumbers > SERVER.oddNumbers)
    throw new AnswerTooLarge(`${SERVER.oddNumbers} numbers in another spelling than that of JavaScript`)
}
