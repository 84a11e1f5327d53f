/** Calls the API under `/dashboard/v1`, with the session of the browser. */
import type { Problem, Session, SignIn } from '@countersign/contract'
import { ENDPOINTS } from '@countersign/contract/endpoints'
import type { AnswerOf, Named, OperationName, SentBodyOf } from '@countersign/contract/operations'

/** A call that failed: the server refused it, or did not respond. */
export class ApiError extends Error {
  override readonly name = 'ApiError'

  /** @param problem null when the server did not respond, or responded without a problem document */
  constructor(
    message: string,
    readonly status: number,
    readonly problem: Problem | null,
  ) {
    super(message)
  }
}

interface CallOptions {
  readonly body?: unknown
  /** A body that is already JSON. It is sent unchanged. */
  readonly json?: string
  /** Undefined and empty parameters are left out. */
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly ifMatch?: string | number
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
}

/** The prefix of the API's paths. */
const MOUNT = '/dashboard'
const SESSION = '/dashboard/session'

/** A server that needs longer than this for a probe is away. */
const PROBE_MS = 5_000

/** Every server knows a new session within this time. */
const SPREAD_MS = 3_000

/** The current session. It is kept in memory only. */
let present: Pick<Session, 'csrf_token' | 'key'> | null = null
let signedInMs = Number.NEGATIVE_INFINITY
let onSession = (_session: Session | null): void => {}

/** @param listener called when a response shows that the session has changed; with null when it has ended */
export function listenForSession(listener: (session: Session | null) => void): void {
  onSession = listener
}

/** Sent by a proxy whose server is away, and by a server that is starting. */
const AWAY = new Set([502, 503, 504])

let onAnswer = (_isServed: boolean): void => {}

/** @param listener called after every call, with false when the server is away. An error of the API counts as served. */
export function listenForAnswers(listener: (isServed: boolean) => void): void {
  onAnswer = listener
}

/** Sends a small request, so that `listenForAnswers` learns whether the server responds. */
export async function probe(): Promise<void> {
  await fetchAnswer('GET', SESSION, { signal: AbortSignal.timeout(PROBE_MS) }).catch(() => {})
}

/** A body is given only for an operation that takes one. */
type Given<Name extends OperationName> = Named<Name> &
  Omit<CallOptions, 'body' | 'json' | 'query'> &
  (SentBodyOf<Name> extends undefined ? object : { readonly body: SentBodyOf<Name> } | { readonly json: string })

/** Calls an operation of the API. @throws ApiError */
export async function call<Name extends OperationName>(name: Name, given: Given<Name>): Promise<AnswerOf<Name>> {
  const { method } = ENDPOINTS[name]
  const options: CallOptions = { ...(method === 'POST' && !('json' in given) && { body: {} }), ...given }
  const url = operationUrl(name, given)
  let isTokenRead = false
  for (;;) {
    try {
      return await send<AnswerOf<Name>>(method, url, options)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const isRefused = error.status === 401 || error.problem?.code === 'cross_origin'
      if (error.status === 401 && performance.now() - signedInMs < SPREAD_MS) {
        // One of several servers may not know yet that another has just started this session.
        await new Promise((resolve) => setTimeout(resolve, SPREAD_MS / 10))
      } else if (isRefused && !isTokenRead) {
        isTokenRead = true
        await assertSameKey()
      } else {
        if (error.status === 401) endSession()
        throw error
      }
    }
  }
}

/**
 * Reads the session again. Signing in again in another window ends the earlier session. The page never sends a call with a
 * key other than the one that it shows.
 *
 * @throws ApiError when the session belongs to another key, or has ended
 */
async function assertSameKey(): Promise<void> {
  const before = present?.key.id
  const session = await readSession()
  if (session !== null && session.key.id === before) return
  if (session === null) endSession()
  else onSession(session)
  const what = session === null ? 'Your session has ended.' : 'This browser is now signed in with another key.'
  throw new ApiError(`${what} Nothing was sent.`, 0, null)
}

function endSession(): void {
  present = null
  onSession(null)
}

/** Calls the API and returns the response, whatever its status. @throws ApiError when there is none */
export const request = (method: string, path: string, options: CallOptions = {}): Promise<Response> =>
  fetchAnswer(method, urlOf(path, options.query), options)

/** Returns the URL of an operation, for a stream that the browser opens itself. */
export function operationUrl<Name extends OperationName>(name: Name, given: Named<Name>): string {
  const { params = {}, query }: UrlParts = given
  const path = ENDPOINTS[name].path.replaceAll(/\{(\w+)\}/g, (_, param: string) =>
    encodeURIComponent(String(params[param])),
  )
  return urlOf(path, query)
}

interface UrlParts extends Pick<CallOptions, 'query'> {
  readonly params?: Readonly<Record<string, string>>
}

function urlOf(path: string, query: CallOptions['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${MOUNT}${path}${text === '' ? '' : `?${text}`}`
}

/** Returns the current session; null when there is none. @throws ApiError */
export async function readSession(): Promise<Session | null> {
  const session = await send<Session | undefined>('GET', SESSION, {})
  return session === undefined ? null : remember(session)
}

/** @throws ApiError */
export async function signIn(given: SignIn): Promise<Session> {
  const session = remember(await send<Session>('POST', SESSION, { body: given }))
  signedInMs = performance.now()
  return session
}

/** @throws ApiError */
export async function signOut(): Promise<void> {
  await send('DELETE', SESSION, {})
  present = null
  signedInMs = Number.NEGATIVE_INFINITY
}

function remember(session: Session): Session {
  present = session
  return session
}

async function send<T>(method: string, url: string, options: CallOptions): Promise<T> {
  const answer = await fetchAnswer(method, url, options)
  const text = await answer.text()
  if (answer.ok) return (text === '' ? undefined : JSON.parse(text)) as T
  throw errorOf(answer, text)
}

async function fetchAnswer(method: string, url: string, options: CallOptions): Promise<Response> {
  const { body, json, ifMatch, headers, signal } = options
  const text = json ?? (body === undefined ? undefined : JSON.stringify(body))
  const answer = await fetch(url, {
    method,
    credentials: 'same-origin',
    ...(text !== undefined && { body: text }),
    ...(signal !== undefined && { signal }),
    headers: {
      ...(text !== undefined && { 'Content-Type': 'application/json' }),
      ...(method !== 'GET' && present !== null && { 'X-CSRF-Token': present.csrf_token }),
      ...(ifMatch !== undefined && { 'If-Match': `"${ifMatch}"` }),
      ...headers,
    },
  }).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    onAnswer(false)
    throw new ApiError('The server is not responding. Is it running?', 0, null)
  })
  onAnswer(!AWAY.has(answer.status))
  return answer
}

function errorOf(answer: Response, text: string): ApiError {
  if (answer.headers.get('Content-Type')?.startsWith('application/problem+json') !== true)
    return new ApiError(`The server responded with status ${answer.status}.`, answer.status, null)
  const problem = JSON.parse(text) as Problem
  return new ApiError(messageOf(problem), answer.status, problem)
}

/** Says what happened, in one or two sentences. */
function messageOf({ title, detail, errors = [] }: Problem): string {
  const places = errors.map(({ pointer, detail: what }) => `${pointer === '' ? 'The request' : pointer} ${what}.`)
  const more = places.length > 0 ? places.join(' ') : detail === title ? '' : detail
  return more ? `${title} ${more}` : title
}
