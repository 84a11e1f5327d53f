/** A server of live events that a test restarts, cuts off and lets fail: what a real decision point would not do on demand. */
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { EventDecision, LiveEvent } from '@countersign/contract'
import { decisionAbout, newDecisionId } from './stub-answers.js'
import type { StubAnswer } from './stub-decision-point.js'
import { until } from './until.js'

export interface StubEventStream {
  readonly url: string
  /** Those for events, oldest first. Only whether it lives may be asked besides. */
  readonly requests: readonly { readonly url: string; readonly headers: IncomingHttpHeaders }[]
  /** The ids by which streams were to be resumed, oldest first; undefined for one from then on. */
  resumedFrom(): readonly (string | undefined)[]
  /** Adds to the log, and sends to everybody who listens. Also while the server is stopped. */
  push(change?: Partial<Omit<LiveEvent, 'data'>>, data?: Partial<EventDecision>): LiveEvent
  /** Sends bytes as they are. */
  write(text: string): void
  /** Answers the next requests in another way. */
  answerNext(...answers: readonly StubAnswer[]): void
  /** How many events before the given id are sent once more; 0 unless a test says so. */
  repeatBeforeResuming(count: number): void
  /** Resolves when somebody listens. */
  listened(): Promise<void>
  /** How many listen. */
  listenerCount(): number
  /** Ends all streams without a word. */
  reset(): void
  /** The process of the server is gone, with all its connections. */
  stop(): Promise<void>
  /** It listens again on the same port. */
  start(): Promise<void>
}

/** Listens on a free port of 127.0.0.1. The id of an event is `cur_` and its place in the log; a stream begins with the present one. */
export async function startStubEventStream(): Promise<StubEventStream> {
  const log: LiveEvent[] = []
  const requests: { url: string; headers: IncomingHttpHeaders }[] = []
  const streams = new Set<ServerResponse>()
  const sockets = new Set<Socket>()
  const answers: StubAnswer[] = []
  let repeatedCount = 0
  let server: Server
  let port = 0

  const listen = async (): Promise<void> => {
    server = createServer((request, response) => {
      const { method = '', url = '', headers } = request
      if (url === '/livez') return void response.writeHead(200).end()
      requests.push({ url, headers })
      const answer = answers.shift()
      if (answer !== undefined) return answer({ method, url, headers, body: '' }, response)
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' })
      const given = headers['last-event-id']
      const from = given === undefined ? log.length : Math.max(0, Number(String(given).slice(4)) - repeatedCount)
      response.write(`: hello\nretry: 1\nid: cur_${from}\n\n`)
      for (let at = from; at < log.length; at += 1) response.write(textOf(log[at] as LiveEvent, at + 1))
      streams.add(response)
      response.on('close', () => streams.delete(response))
    })
    server.on('connection', (socket) => {
      sockets.add(socket)
      socket.on('close', () => sockets.delete(socket))
      socket.on('error', () => undefined)
    })
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    port = (server.address() as AddressInfo).port
  }
  const reset = (): void => {
    for (const socket of sockets) socket.resetAndDestroy()
  }
  await listen()

  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    resumedFrom: () => requests.map(({ headers }) => headers['last-event-id'] as string | undefined),
    push(change = {}, data = {}) {
      const event = liveEvent(change, data)
      log.push(event)
      for (const stream of streams) stream.write(textOf(event, log.length))
      return event
    },
    write(text) {
      for (const stream of streams) stream.write(text)
    },
    answerNext: (...next) => void answers.push(...next),
    repeatBeforeResuming(count) {
      repeatedCount = count
    },
    listened: async () => void (await until('a listener', () => (streams.size > 0 ? true : undefined))),
    listenerCount: () => streams.size,
    reset,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        reset()
      }),
    start: listen,
  }
}

/** A creation that allows, unless told otherwise. */
function liveEvent(change: Partial<Omit<LiveEvent, 'data'>>, data: Partial<EventDecision>): LiveEvent {
  const { permit_token, shadow, ...decision } = decisionAbout({
    agent_id: 'agent:support-7',
    action: 'payment.refund',
    resource: 'order:8812',
  })
  const about = { request_hash: 'hash', key_id: 'key_01kagx3v5ne8sr6w1y6gqk4t2h', request_id: 'req_stub-0001' }
  return {
    type: 'decision.created',
    timestamp: decision.evaluated_at,
    sequence: 1,
    ...change,
    data: { ...decision, ...about, id: newDecisionId(), ...data },
  }
}

function textOf(event: LiveEvent, place: number): string {
  return `id: cur_${place}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}
