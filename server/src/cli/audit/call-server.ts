import { printable } from '@countersign/client/kernel'
import { validate } from '@countersign/contract'
import type { z } from 'zod'
import { CommandError, EXIT, exitCodeOfStatus } from '../exit.js'
import type { ServerAccess } from '../server-access.js'
import { fetchText } from './fetch-text.js'

/** A server waits three seconds for the checkpoint of a proof. */
const LIMITS = { maxBytes: 16 * 1024 * 1024, withinMs: 30_000 }

/**
 * Asks a server for JSON. It comes as the server sent it.
 *
 * @throws CommandError with what the server says when it refuses; when no answer comes, and when it is none of the schema
 */
export async function askServer<Schema extends z.ZodType>(
  { baseUrl, apiKey }: ServerAccess,
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  const { status, text } = await fetchText(baseUrl.replace(/\/+$/, '') + path, LIMITS, {
    headers: { Authorization: `Bearer ${apiKey}` },
    redirect: 'manual',
  })
  const body = jsonOf(text)
  if (status !== 200)
    throw new CommandError(
      exitCodeOfStatus(status),
      `${baseUrl} answers ${status}: ${printable(problemOf(body, text))}`,
    )
  if (validate(schema, body).ok) return body as z.output<Schema>
  throw new CommandError(EXIT.failure, `${baseUrl} answers ${path} with something else than this release knows.`)
}

/** Undefined for what is no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function problemOf(body: unknown, text: string): string {
  const { title, detail, errors } = (body ?? {}) as Partial<Record<'title' | 'detail' | 'errors', unknown>>
  const [fault] = Array.isArray(errors) ? errors : []
  const parts = [title, detail, fault?.pointer, fault?.detail].filter((part) => typeof part === 'string')
  return parts.length > 0 ? parts.join(' ') : text
}
