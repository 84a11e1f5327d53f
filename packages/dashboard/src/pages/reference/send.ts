/** Sends a call of the reference with the session, and reads the parts of the response that may be shown. */
import { request } from '../../api/client'
import { hasMasked, masked } from './masked'
import type { Operation } from './openapi'

/** What the user has entered, by parameter name. */
export type Values = Readonly<Record<string, string>>

export interface ShownAnswer {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** JSON without its secrets, or text; undefined for an empty response. */
  readonly body: { readonly json: unknown } | { readonly text: string } | undefined
  readonly hasMasked: boolean
  readonly isEnded: boolean
}

/** The most characters of a stream that are kept. */
const MOST_SHOWN = 50_000

/** Fills in the parameters of the path: `/v1/decisions/dec_…`. */
function pathOf({ path, parameters }: Operation, values: Values): string {
  const ids = parameters.filter(({ in: place }) => place === 'path')
  return ids.reduce((filled, { name }) => filled.replace(`{${name}}`, encodeURIComponent(values[name] ?? '')), path)
}

/**
 * @param body sent unchanged: the server reports what is not strict JSON
 * @param onAnswer called with each state of the response; a stream has many
 * @throws ApiError, and an AbortError once the signal is aborted
 */
export async function sendCall(
  operation: Operation,
  values: Values,
  body: string,
  signal: AbortSignal,
  onAnswer: (answer: ShownAnswer) => void,
): Promise<void> {
  const given = (wanted: string) =>
    Object.fromEntries(
      operation.parameters
        .filter(({ in: place, name }) => place === wanted && (values[name] ?? '') !== '')
        .map(({ name }) => [name, values[name] as string]),
    )
  const answer = await request(operation.method, pathOf(operation, values), {
    query: given('query'),
    headers: given('header'),
    signal,
    ...(body.trim() !== '' && { json: body }),
  })
  const shown = { status: answer.status, headers: headersOf(answer, operation), hasMasked: false, isEnded: true }
  const type = answer.headers.get('Content-Type') ?? ''
  if (type.startsWith('text/event-stream')) {
    let text = ''
    onAnswer({ ...shown, body: { text }, isEnded: false })
    for await (const chunk of textsOf(answer)) {
      text = (text + chunk).slice(-MOST_SHOWN)
      onAnswer({ ...shown, body: { text }, isEnded: false })
    }
    return onAnswer({ ...shown, body: { text } })
  }
  const text = await answer.text()
  if (text === '') return onAnswer({ ...shown, body: undefined })
  if (!/\bjson\b/.test(type)) return onAnswer({ ...shown, body: { text } })
  const json = masked(JSON.parse(text))
  onAnswer({ ...shown, body: { json }, hasMasked: hasMasked(json) })
}

async function* textsOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value
}

/** Returns the documented headers, and `Retry-After`. */
function headersOf(answer: Response, operation: Operation): ShownAnswer['headers'] {
  const names = ['Content-Type', ...operation.answer.headers.map(({ name }) => name), 'Retry-After']
  return names.flatMap((name) => {
    const value = answer.headers.get(name)
    return value === null ? [] : [[name, value] as const]
  })
}
