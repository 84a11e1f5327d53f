/** What the commands read: files, standard input (`-`), and the URLs of key sets. */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { validate } from '@countersign/contract'
import type { z } from 'zod'
import { CommandError, EXIT } from '../exit.js'
import { fetchText } from './fetch-text.js'

const STDIN = '-'
/** Checkpoints of many years are shorter; a device may have no end. */
const MAX_TEXT_BYTES = 256 * 1024 * 1024
const KEY_SET_LIMITS = { maxBytes: 64 * 1024, withinMs: 10_000 }

export function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source)
}

/** @throws CommandError when it cannot be read, or is longer than any text that a command works with */
export async function readText(source: string): Promise<string> {
  if (isUrl(source)) return readUrl(source)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of (await openBytes(source)).chunks) {
    length += chunk.length
    if (length > MAX_TEXT_BYTES)
      throw new CommandError(EXIT.failure, `${source} is longer than ${MAX_TEXT_BYTES} bytes. Name another file.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * Reads JSON of a schema. What the schema does not change comes as it was read.
 *
 * @param what it is to be, for the error
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
    throw new CommandError(EXIT.usage, `${source} is not ${what}: it is no JSON.`, { cause })
  }
  const checked = validate(schema, value)
  if (checked.ok) return value as z.output<Schema>
  const [fault] = checked.errors
  // The whole value has an empty place.
  throw new CommandError(EXIT.usage, `${source} is not ${what}: ${`${fault?.pointer} ${fault?.detail}`.trim()}.`)
}

/**
 * The bytes of a file, and how many there are; null for standard input, whose length nobody knows.
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
  return new CommandError(
    EXIT.failure,
    `Cannot read ${file}: ${(cause as Error).message}. Name a file that you may read.`,
    { cause },
  )
}

async function readUrl(url: string): Promise<string> {
  const { status, text } = await fetchText(url, KEY_SET_LIMITS)
  if (status !== 200)
    throw new CommandError(
      EXIT.failure,
      `${url} answered ${status}. Name the URL of the key set, or a file that has it.`,
    )
  return text
}
