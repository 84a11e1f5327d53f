/** The inputs of the commands: files, standard input (`-`), and the URLs of key sets. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { validate } from '@countersign/contract'
import type { z } from 'zod'
import { type CommandError, EXIT, failure, usageError } from '../exit.js'
import { fetchText } from './fetch-text.js'
import { RefusedError, whileBusy } from './while-busy.js'

const STDIN = '-'
/** Checkpoints of many years are shorter; a device may have no end. */
const MAX_TEXT_BYTES = 256 * 1024 * 1024
const KEY_SET_LIMITS = { maxBytes: 64 * 1024, withinMs: 10_000 }

export function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source)
}

/** @throws CommandError when it cannot be read, or is longer than any text that a command uses */
export async function readText(source: string): Promise<string> {
  if (isUrl(source)) return readUrl(source)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (await openBytes(source)).chunks) {
    length += chunk.length
    if (length > MAX_TEXT_BYTES) throw failure(`${source} is longer than ${MAX_TEXT_BYTES} bytes. Name another file.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * Reads JSON of a schema. Values that the schema does not transform stay unchanged.
 *
 * @param what describes the expected content, for the error
 * @throws CommandError when it is something else
 */
export async function readJson<Schema extends z.ZodType>(
  source: string,
  schema: Schema,
  what: string,
): Promise<z.output<Schema>> {
  let value: unknown
  try {
    value = JSON.parse(await readText(source))
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw usageError(`${source} is not ${what}: it is not JSON.`, cause)
  }
  const checked = validate(schema, value)
  if (checked.ok) return value as z.output<Schema>
  const [fault] = checked.errors
  // The whole value has an empty place.
  throw usageError(`${source} is not ${what}: ${`${fault?.pointer} ${fault?.detail}`.trim()}.`)
}

/**
 * Opens the bytes of a file, with their number; null for standard input, whose length is unknown.
 *
 * @throws CommandError, also from `chunks`, when it cannot be read
 */
export async function openBytes(
  source: string,
): Promise<{ readonly chunks: AsyncIterable<Uint8Array>; readonly size: number | null }> {
  if (source === STDIN) return { chunks: process.stdin, size: null }
  try {
    return { chunks: bytesOf(source), size: (await stat(source)).size }
  } catch (cause) {
    throw unreadable(source, cause)
  }
}

async function* bytesOf(file: string): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* createReadStream(file, { highWaterMark: 256 * 1024 })
  } catch (cause) {
    throw unreadable(file, cause)
  }
}

function unreadable(file: string, cause: unknown): CommandError {
  return failure(`Cannot read ${file}: ${(cause as Error).message}. Name a file that you may read.`, cause)
}

function readUrl(url: string): Promise<string> {
  return whileBusy(url, async () => {
    const answer = await fetchText(url, KEY_SET_LIMITS)
    if (answer.status === 200) return answer.text
    const said = `${url} answered ${answer.status}. Name the URL of the key set, or a file that has it.`
    throw new RefusedError(answer, EXIT.failure, said)
  })
}
