/** A GET, on which the server sends unrelated and missed messages, or a DELETE of the session. */
import type { IncomingMessage } from 'node:http'
import { CONNECTION_CLOSED, errorMessage } from '../../messages/json-rpc.js'
import type { ClientResponse } from './client-response.js'
import { Exchange, type Exchanged } from './exchange.js'
import { kindOf, type OtherAnswer, readOther, relayStream } from './server-answer.js'
import { answerHeaders, type Headers } from './upstream-endpoint.js'

export interface Streaming extends Exchanged {
  readonly method: 'GET' | 'DELETE'
}

export class ServerStream extends Exchange<Streaming> {
  protected async exchange(): Promise<void> {
    const { method, session, endpoint, client, headers } = this.given
    const leave = (): void => this.abort('the client has left')
    client.gone.addEventListener('abort', leave, { once: true })
    const lastEventId = headers['last-event-id']
    if (method === 'GET' && lastEventId !== undefined) await session.takeUp(lastEventId)
    session.enter(this)
    try {
      await this.#relay(await endpoint.request({ method, headers, signal: this.ending }))
      client.end()
    } catch {
      if (client.hasBegun) client.cut()
      else client.json(502, errorMessage(null, { code: CONNECTION_CLOSED, message: 'The server did not answer' }))
    } finally {
      await session.leave(this)
      client.gone.removeEventListener('abort', leave)
    }
  }

  async #relay(answer: IncomingMessage): Promise<void> {
    const { session, client, headers } = this.given
    const status = answer.statusCode!
    const answered = answerHeaders(answer.headers, session.id)
    if (status === 200 && kindOf(answer) === 'stream') {
      client.begin(answered)
      return relayStream(answer, {
        session,
        write: (text) => client.write(text),
        noteId: (id) => this.noteId(id),
        isReplay: headers['last-event-id'] !== undefined,
      })
    }
    const other = await readOther(answer, session)
    this.#noteEnd(status)
    sendOther(client, other, answered)
  }

  /** The session ends when the server has deleted it or does not know it. */
  #noteEnd(status: number): void {
    const { method, sessions, session, headers } = this.given
    const isOver = status === 404 || (method === 'DELETE' && status < 300)
    if (isOver && headers['mcp-session-id'] !== undefined) sessions.end(session)
  }
}

/** A browser must not run content of the server as a page of the proxy. */
const AS_NO_PAGE: Headers = {
  'content-security-policy': "sandbox; default-src 'none'",
  'x-content-type-options': 'nosniff',
}

/** Relays an answer that is not a stream. */
export function sendOther(client: ClientResponse, { status, messages, body }: OtherAnswer, headers: Headers): void {
  const [first, ...others] = messages
  if (body !== undefined) client.whole(status, { ...headers, ...AS_NO_PAGE, 'content-type': body.type }, body.bytes)
  else if (first === undefined) client.whole(status, headers)
  else client.json(status, others.length > 0 ? messages : first, headers)
}
