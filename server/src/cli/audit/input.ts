/** What the commands read: files, standard input (`-`), and the URLs of key sets. */
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { validate } from '@countersign/contract'
import type { z } from 'zod'
import { CommandError, EXIT } from '../exit.js'
import { fetchText } from './fetch-text.js'

const STDIN = '-'
const KEY_SET_LIMITS = { maxBytes: 64 * 1024, withinMs: 10_000 }

export function isUrl(source: string): boolean {
  return /^https?:\/\//i.test(source)
}

/** @throws Error when it cannot be read */
export async function readText(source: string): Promise<string> {
  if (isUrl(source)) return readUrl(source)
  if (source !== STDIN) return readFile(source, 'utf8')
  const chunks: Uint8Array[] = []
  for await (const chunk of process.stdin) chunks.push(chunk)
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
  throw new CommandError(EXIT.usage, `${source} is not ${what}: ${fault?.pointer} ${fault?.detail}.`)
}

/** The bytes of a file, and how many there are; null for standard input, whose length nobody knows. */
export async function openBytes(
  source: string,
): Promise<{ readonly chunks: AsyncIterable<Uint8Array>; readonly size: number | null }> {
  if (source === STDIN) return { chunks: process.stdin, size: null }
  const { size } = await stat(source)
  return { chunks: createReadStream(source, { highWaterMark: 256 * 1024 }), size }
}

async function readUrl(url: string): Promise<string> {
  const { status, text } = await fetchText(url, KEY_SET_LIMITS)
  if (status !== 200) throw new Error(`${url} answered ${status}.`)
  return text
}
