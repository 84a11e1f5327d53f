import { validate } from '@countersign/contract'
import type { z } from 'zod'
import { CommandError, EXIT } from '../exit.js'
import type { ServerAccess } from '../server-access.js'
import { textWithin } from './input.js'

const PROBLEM_BYTES = 64 * 1024

/**
 * Asks a server. The answer is one of success.
 *
 * @throws CommandError with what the server says when it refuses; Error when none answers
 */
export async function callServer({ baseUrl, apiKey }: ServerAccess, path: string): Promise<Response> {
  let answer: Response
  try {
    answer = await fetch(baseUrl.replace(/\/+$/, '') + path, { headers: { Authorization: `Bearer ${apiKey}` } })
  } catch (cause) {
    throw new CommandError(EXIT.failure, `No Countersign server answers at ${baseUrl}.`, { cause })
  }
  if (answer.ok) return answer
  const { status } = answer
  const code = status === 401 || status === 403 ? EXIT.config : status === 400 ? EXIT.usage : EXIT.failure
  throw new CommandError(code, `The server answers ${status}: ${await problemOf(answer)}`)
}

/**
 * The same for an answer in JSON, as it came.
 *
 * @throws Error when it is none of the schema
 */
export async function askServer<Schema extends z.ZodType>(
  access: ServerAccess,
  path: string,
  schema: Schema,
): Promise<z.output<Schema>> {
  const body: unknown = await (await callServer(access, path)).json()
  if (validate(schema, body).ok) return body as z.output<Schema>
  throw new CommandError(EXIT.failure, `${access.baseUrl} answers ${path} with something else than this release knows.`)
}

async function problemOf(answer: Response): Promise<string> {
  const text = await textWithin(answer, PROBLEM_BYTES)
  try {
    const { title, detail } = JSON.parse(text)
    return [title, detail].filter((part) => typeof part === 'string').join(' ')
  } catch {
    return text.slice(0, 200)
  }
}
