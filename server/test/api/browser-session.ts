/** A signed-in browser, as the server sees it: its requests with their cookie, their origin and their CSRF token. */
import { request } from 'node:http'
import type { Session } from '@countersign/contract'
import type { RunningServer } from '../running-server.js'

// biome-ignore lint/suspicious/noExplicitAny: answers are whatever JSON came; tests assert what they read of it
type AnyJson = any

export interface BrowserAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  readonly body: AnyJson
}

export interface BrowserRequest {
  readonly body?: unknown
  /** Undefined leaves a header out that a browser sends. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export interface BrowserSession {
  readonly session: Session
  readonly cookie: string
  /** Everything that a page of the dashboard sends. */
  send(method: string, path: string, options?: BrowserRequest): Promise<BrowserAnswer>
}

/** Sends exactly these headers. */
export function sendRaw(
  server: Pick<RunningServer, 'url'>,
  method: string,
  path: string,
  { body, headers = {} }: BrowserRequest = {},
): Promise<BrowserAnswer> {
  const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
  const given = Object.entries({ ...(text !== undefined && { 'Content-Type': 'application/json' }), ...headers })
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, {
      method,
      headers: Object.fromEntries(given.filter(([, value]) => value !== undefined)) as Record<string, string>,
    })
    sent.once('error', reject)
    sent.once('response', (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.once('error', reject)
      answer.once('end', () => {
        const received = Buffer.concat(chunks).toString()
        const isJson = answer.headers['content-type']?.includes('json') === true
        resolve({
          status: answer.statusCode as number,
          headers: answer.headers,
          text: received,
          body: isJson && received !== '' ? JSON.parse(received) : undefined,
        })
      })
    })
    sent.end(text)
  })
}

/** What a browser sends of itself with a request of a page of the server. */
export const fromOwnPage = ({ url }: Pick<RunningServer, 'url'>) => ({ Origin: url, 'Sec-Fetch-Site': 'same-origin' })

/** Signs in with a key. */
export async function signInWith(server: RunningServer, key = server.key): Promise<BrowserSession> {
  const answer = await sendRaw(server, 'POST', '/dashboard/session', { body: { key }, headers: fromOwnPage(server) })
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`)
  return sessionOf(server, answer)
}

/** The session that an answer to a sign-in has started. */
export function sessionOf(server: RunningServer, answer: BrowserAnswer): BrowserSession {
  const cookie = String(answer.headers['set-cookie']).split(';', 1)[0] as string
  const session = answer.body as Session
  return {
    session,
    cookie,
    send: (method, path, { body, headers } = {}) =>
      sendRaw(server, method, path, {
        body,
        headers: { ...fromOwnPage(server), Cookie: cookie, 'X-CSRF-Token': session.csrf_token, ...headers },
      }),
  }
}
