import { ProofError } from '@countersign/audit-log'
import { printable } from '@countersign/client/text'
import { validate } from '@countersign/contract'
import type { z } from 'zod'
import { exitCodeOfStatus, failure } from '../exit.js'
import type { ServerAccess } from '../server-access.js'
import { fetchText } from './fetch-text.js'
import { RefusedError, whileBusy } from './while-busy.js'

/** What a person must do when a server is busy for longer than a command waits; empty when the server did not say. */
export function askedFor(retryAfterSeconds: number | null): string {
  return retryAfterSeconds === null ? '' : ` It asks to wait ${retryAfterSeconds} seconds: repeat the command then.`
}

/** A server waits three seconds for the checkpoint of a proof. */
const LIMITS = { maxBytes: 16 * 1024 * 1024, withinMs: 30_000 }

/**
 * Requests JSON from a server and returns it unchanged.
 *
 * @throws CommandError with the server's message when it refuses, when there is no answer, and when it does not match
 *   the schema
 */
export async function askServer<Schema extends z.ZodType>(
  { baseUrl, apiKey }: ServerAccess,
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  const url = baseUrl.replace(/\/+$/, '') + path
  const init = { headers: { Authorization: `Bearer ${apiKey}` }, redirect: 'manual' } as const
  const body = await whileBusy(baseUrl, async () => {
    const { status, text, retryAfterSeconds } = await fetchText(url, LIMITS, init)
    const body = jsonOf(text)
    const { code, detail } = (body ?? {}) as { readonly code?: unknown; readonly detail?: unknown }
    if (status === 409 && code === 'log_rewritten') throw rewritten(baseUrl, String(detail))
    if (status === 200) return body
    const said = `${printable(problemOf(body, text))}${askedFor(retryAfterSeconds)}`
    throw new RefusedError(
      { status, retryAfterSeconds },
      exitCodeOfStatus(status),
      `${baseUrl} answers ${status}: ${said}`,
    )
  })
  if (validate(schema, body).ok) return body as z.output<Schema>
  throw failure(`${baseUrl} answers ${path} in a form that this release does not know.`)
}

/** The error for a server that has found its log rewritten. */
export function rewritten(url: string, detail: string): ProofError {
  return new ProofError(`The audit log of ${url} does not continue from what it has signed. ${detail}`)
}

/** Undefined for a text that is not JSON. */
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
