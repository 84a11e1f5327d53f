/** Calls of the API by the session of the browser, under `/dashboard/v1`. */
import type { Problem, Session, SignIn } from '@countersign/contract'

/** The server's answer to a call that failed, or the lack of one. */
export class ApiError extends Error {
  override readonly name = 'ApiError'

  /** @param problem null when there was no answer, or none of the API */
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
  /** A body that is JSON already, sent as it was written. */
  readonly json?: string
  /** Parameters that are undefined or empty are left out. */
  readonly query?: Readonly<Record<string, string | number | undefined>>
  readonly ifMatch?: string | number
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

const API = '/dashboard/v1'
const SESSION = '/dashboard/session'

/** Within this time all servers know of a new session. */
const SPREAD_MS = 3_000

/** Of the present session. It is kept in memory only. */
let present: Pick<Session, 'csrf_token' | 'key'> | null = null
let signedInMs = Number.NEGATIVE_INFINITY
let onSession = (_session: Session | null): void => {}

/** @param listener called when an answer shows that the session is another one; null: it has ended */
export function listenForSession(listener: (session: Session | null) => void): void {
  onSession = listener
}

/**
 * Calls the API.
 *
 * @param path below `/v1`, with its parts encoded: `/decisions`
 * @throws ApiError
 */
export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const url = urlOf(path, options.query)
  let isTokenRead = false
  for (;;) {
    try {
      return await send<T>(method, url, options)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      const isRefused = error.status === 401 || error.problem?.code === 'cross_origin'
      if (error.status === 401 && performance.now() - signedInMs < SPREAD_MS) {
        // Of several servers, one may not know yet of a session that another has just started.
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
 * Reads the session again: somebody may have signed in again in another window, which ends the session before. Nothing is ever sent as another key than the one
 * that the page shows.
 *
 * @throws ApiError when the session is one of another key, or over
 */
async function assertSameKey(): Promise<void> {
  const before = present?.key.id
  const session = await readSession()
  if (session !== null && session.key.id === before) return
  if (session === null) endSession()
  else onSession(session)
  const what = session === null ? 'The session has ended.' : 'Somebody has signed in with another key in this browser.'
  throw new ApiError(`${what} Nothing was sent.`, 0, null)
}

function endSession(): void {
  present = null
  onSession(null)
}

/**
 * Calls the API, and gives the answer as it comes, whatever its status.
 *
 * @throws ApiError when there is none
 */
export const request = (method: string, path: string, options: CallOptions = {}): Promise<Response> =>
  fetchAnswer(method, urlOf(path, options.query), options)

export const get = <T>(path: string, options?: Omit<CallOptions, 'body'>): Promise<T> => call<T>('GET', path, options)

export const post = <T>(path: string, body: unknown = {}, options?: CallOptions): Promise<T> =>
  call<T>('POST', path, { ...options, body })

/** The URL of a path of the API, for links and streams that the browser opens itself. */
export function urlOf(path: string, query: CallOptions['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== '')
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()
  return `${API}${path}${text === '' ? '' : `?${text}`}`
}

/** The present session; null when nobody is signed in. @throws ApiError */
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

function fetchAnswer(method: string, url: string, options: CallOptions): Promise<Response> {
  const { body, json, ifMatch, headers, signal } = options
  const text = json ?? (body === undefined ? undefined : JSON.stringify(body))
  return fetch(url, {
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
    throw new ApiError('The server does not answer. Is it running?', 0, null)
  })
}

function errorOf(answer: Response, text: string): ApiError {
  if (answer.headers.get('Content-Type')?.startsWith('application/problem+json') !== true)
    return new ApiError(`The server answers with status ${answer.status}.`, answer.status, null)
  const problem = JSON.parse(text) as Problem
  return new ApiError(messageOf(problem), answer.status, problem)
}

/** What happened, in one or two sentences. */
function messageOf({ title, detail, errors = [] }: Problem): string {
  const places = errors.map(({ pointer, detail: what }) => `${pointer === '' ? 'The whole' : pointer} ${what}.`)
  const more = places.length > 0 ? places.join(' ') : detail === title ? '' : detail
  return more ? `${title} ${more}` : title
}
