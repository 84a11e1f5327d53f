import {
  answerJson,
  answerNever,
  answerProblem,
  answerReset,
  answerText,
  type StubEventStream,
  startStubEventStream,
  until,
} from '@countersign/testkit'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { EventsOptions, ReceivedEvent } from '../src/index.js'
import { API_KEY, describeTransports, rejectionOf } from './transports.js'

const streamHead = { 'content-type': 'text/event-stream' }

describeTransports('events', (rig) => {
  let server: StubEventStream
  beforeEach(async () => {
    server = await startStubEventStream()
  })
  afterEach(() => server.stop())

  const events = (options: EventsOptions = {}) => rig().open({ baseUrl: server.url }).events(options)

  /** The next `count` events of a stream that goes on. */
  async function take(stream: AsyncIterator<ReceivedEvent>, count: number): Promise<ReceivedEvent[]> {
    const taken: ReceivedEvent[] = []
    while (taken.length < count) {
      const { done, value } = await stream.next()
      if (done) throw new Error('the stream has ended')
      taken.push(value)
    }
    return taken
  }

  it('yields each event with its id, and asks for what the filters say', async () => {
    const filters = { agent_id: 'agent:ä&b', action: 'payment.*', effect: 'deny', type: 'decision.created' } as const
    const stream = events({ ...filters, resource: undefined })
    const first = stream.next()
    await server.listened()
    const sent = [server.push(), server.push({ type: 'decision.confirmed', sequence: null })]
    expect([await first, await stream.next()]).toEqual(
      sent.map((event, at) => ({ done: false, value: { id: `cur_${at + 1}`, ...event } })),
    )
    expect(server.requests).toHaveLength(1)
    const [{ url, headers } = { url: '', headers: {} }] = server.requests
    expect(Object.fromEntries(new URL(url, server.url).searchParams)).toEqual(filters)
    expect(url).toMatch(/^\/v1\/events\?/)
    expect(headers).toMatchObject({ accept: 'text/event-stream', authorization: `Bearer ${API_KEY}` })
    expect(headers['last-event-id']).toBeUndefined()
    await stream.return()
  })

  it('asks for several types at once', async () => {
    const stream = events({ type: ['decision.created', 'decision.approved'] })
    const next = stream.next()
    await server.listened()
    expect(server.requests[0]?.url).toBe('/v1/events?type=decision.created%2Cdecision.approved')
    server.push()
    await next
    await stream.return()
  })

  it('asks for nothing before the first event is', async () => {
    await events().return()
    expect(server.requests).toHaveLength(0)
  })

  it('begins behind the id that it is given', async () => {
    server.push()
    const second = server.push()
    const stream = events({ lastEventId: 'cur_1' })
    expect(await take(stream, 1)).toEqual([{ id: 'cur_2', ...second }])
    expect(server.resumedFrom()).toEqual(['cur_1'])
    await stream.return()
  })

  it('loses nothing and repeats nothing over resets and restarts of the server', async () => {
    const stream = events()
    const received: string[] = []
    const reading = (async () => {
      for await (const { data } of stream) {
        received.push(data.id)
        if (received.length === 12) break
      }
    })()
    const sent: string[] = []
    const push = () => sent.push(server.push().data.id)
    await server.listened()
    for (let round = 0; round < 4; round += 1) {
      push()
      await until('the event', () => (received.length === sent.length ? true : undefined))
      if (round % 2 === 0) {
        server.reset()
        push()
      } else {
        await server.stop()
        push()
        await server.start()
      }
      push()
      await server.listened()
    }
    await reading
    expect(received).toEqual(sent)
    expect(server.resumedFrom()).toEqual([undefined, 'cur_1', 'cur_4', 'cur_7', 'cur_10'])
  })

  it('says when a connection is up: before its first event, and again after each loss', async () => {
    const heard: string[] = []
    const stream = events({ onConnect: () => void heard.push('up') })
    const reading = (async () => {
      for await (const { id } of stream) if (heard.push(id) === 4) break
    })()
    const connections = (count: number) =>
      until('the connection', () => (heard.filter((one) => one === 'up').length === count ? true : undefined))
    await connections(1)
    server.push()
    await until('the event', () => (heard.length === 2 ? true : undefined))
    await server.stop()
    server.push()
    await server.start()
    await reading
    expect(heard).toEqual(['up', 'cur_1', 'up', 'cur_2'])
  })

  it('says of no connection that is refused, and ends with what the listener throws', async () => {
    let count = 0
    const onConnect = () => {
      count += 1
      throw new Error('I have seen enough.')
    }
    server.answerNext(answerProblem(503, 'store_unavailable'), answerProblem(401, 'unauthorized'))
    expect(await rejectionOf(events({ onConnect }).next())).toMatchObject({ status: 401 })
    expect(count).toBe(0)
    expect(await rejectionOf(events({ onConnect }).next())).toMatchObject({ message: 'I have seen enough.' })
    expect(count).toBe(1)
  })

  it('resumes from where the server said it was, when no event came yet', async () => {
    server.push()
    const stream = events()
    const next = take(stream, 1)
    await server.listened()
    server.write('id: cur_1\n\n')
    await server.stop()
    const event = server.push()
    await server.start()
    expect(await next).toEqual([{ id: 'cur_2', ...event }])
    expect(server.resumedFrom().at(-1)).toBe('cur_1')
    await stream.return()
  })

  it('yields nothing twice that a server sends once more', async () => {
    const stream = events()
    const first = take(stream, 3)
    await server.listened()
    const sent = [server.push(), server.push(), server.push()]
    await first
    server.repeatBeforeResuming(3)
    server.reset()
    const next = take(stream, 1)
    await until('another connection', () => (server.requests.length === 2 ? true : undefined))
    const { data } = server.push()
    expect((await next).map((event) => event.data.id)).toEqual([data.id])
    expect(sent).toHaveLength(3)
    await stream.return()
  })

  it('takes the same change of another decision, and another change of the same, for a new event', async () => {
    const stream = events()
    const next = take(stream, 4)
    await server.listened()
    const { timestamp, data } = server.push()
    server.push({ timestamp })
    server.push({ timestamp, sequence: 2 }, data)
    server.push({ timestamp, sequence: 2, type: 'decision.redeemed' }, data)
    expect((await next).map(({ id }) => id)).toEqual(['cur_1', 'cur_2', 'cur_3', 'cur_4'])
    await stream.return()
  })

  it('drops what was cut off in the middle of an event, and gets it whole afterwards', async () => {
    const stream = events()
    const next = take(stream, 1)
    await server.listened()
    server.write('id: cur_1\nevent: decision.created\ndata: {"type":"deci')
    await server.stop()
    const event = server.push()
    await server.start()
    expect(await next).toEqual([{ id: 'cur_1', ...event }])
    await stream.return()
  })

  it.each([
    ['500', answerProblem(500, 'internal_error')],
    ['502 of a proxy', answerText(502, '<h1>Bad Gateway</h1>')],
    ['503', answerProblem(503, 'store_unavailable', { 'retry-after': '0' })],
    ['429', answerProblem(429, 'rate_limited', { 'retry-after': '0' })],
    ['a reset', answerReset],
    ['a stream that ends at once', answerText(200, '', streamHead)],
    ['a stream of comments that ends', answerText(200, ': a\n\n: b\n', streamHead)],
  ])('goes on after %s', async (_what, answer) => {
    server.answerNext(answer)
    const stream = events()
    const next = take(stream, 1)
    await server.listened()
    const event = server.push()
    expect(await next).toMatchObject([event])
    expect(server.requests).toHaveLength(2)
    await stream.return()
  })

  it.each([
    [400, 'validation_failed'],
    [400, 'invalid_cursor'],
    [401, 'unauthorized'],
    [403, 'insufficient_scope'],
    [404, 'not_found'],
  ])('throws for %i %s', async (status, code) => {
    server.answerNext(answerProblem(status, code))
    expect(await rejectionOf(events().next())).toMatchObject({ name: 'ApiError', status, code })
    expect(server.requests).toHaveLength(1)
  })

  it('throws when the key is revoked while it listens', async () => {
    const stream = events()
    const next = take(stream, 1)
    await server.listened()
    server.answerNext(answerProblem(401, 'unauthorized'))
    server.reset()
    expect(await rejectionOf(next)).toMatchObject({ name: 'ApiError', status: 401 })
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  it.each([
    ['a redirect', answerText(302, '', { location: '/v1/other' })],
    ['an answer that is no stream', answerJson(200, { data: [] })],
    ['404 of a proxy', answerText(404, '<h1>Not Found</h1>')],
    ['no content', answerText(204, '')],
    ['an event that is no JSON', answerText(200, 'id: 1\ndata: {\n\n', streamHead)],
    ['an event that is no event', answerText(200, 'id: 1\ndata: {"type":"decision.created"}\n\n', streamHead)],
    ['an event without an id', answerText(200, 'data: {}\n\n', streamHead)],
    ['an event of more than 1 MiB', answerText(200, `id: 1\ndata: ${'x'.repeat(1024 * 1024)}`, streamHead)],
  ])('throws for %s, and asks no second time', async (_what, answer) => {
    server.answerNext(answer)
    expect(await rejectionOf(events().next())).toMatchObject({ name: 'UnavailableError', kind: 'bad_answer' })
    expect(server.requests).toHaveLength(1)
  })

  it.each([
    ['an unknown filter', { agentId: 'agent:a' }],
    ['an id that no header can hold', { lastEventId: 'a\nb' }],
    ['an empty id', { lastEventId: '' }],
    ['a listener that is no function', { onConnect: true }],
  ])('refuses %s', (_what, options) => {
    expect(() => events(options as EventsOptions)).toThrow(TypeError)
  })

  it('ends with the signal while it waits for an event', async () => {
    const controller = new AbortController()
    const next = events({ signal: controller.signal }).next()
    await server.listened()
    controller.abort(new Error('enough'))
    expect(await next).toEqual({ done: true, value: undefined })
    await until('the end of the connection', () => (server.listenerCount() === 0 ? true : undefined))
  })

  it('ends with the signal between two events, before another one is yielded', async () => {
    const controller = new AbortController()
    const stream = events({ signal: controller.signal })
    const next = take(stream, 1)
    await server.listened()
    server.push()
    server.push()
    await next
    controller.abort()
    expect(await stream.next()).toEqual({ done: true, value: undefined })
  })

  it('ends with the signal while the server thinks, and while it waits to connect again', async () => {
    server.answerNext(answerNever, answerProblem(503, 'store_unavailable', { 'retry-after': '3600' }))
    for (const count of [1, 2]) {
      const controller = new AbortController()
      const next = events({ signal: controller.signal }).next()
      await until('the request', () => (server.requests.length === count ? true : undefined))
      controller.abort()
      expect(await next).toEqual({ done: true, value: undefined })
    }
  })

  it('sends nothing when the signal was aborted before', async () => {
    expect(await events({ signal: AbortSignal.abort() }).next()).toEqual({ done: true, value: undefined })
    expect(server.requests).toHaveLength(0)
  })

  it('ends its connection by a break', async () => {
    server.push()
    for await (const event of events({ lastEventId: 'cur_0' })) {
      expect(event.id).toBe('cur_1')
      break
    }
    await until('the end of the connection', () => (server.listenerCount() === 0 ? true : undefined))
  })

  it('throws when the client is closed, and refuses to begin then', async () => {
    const client = rig().open({ baseUrl: server.url })
    const next = client.events().next()
    await server.listened()
    client.close()
    expect(await rejectionOf(next)).toMatchObject({ name: 'UnavailableError', kind: 'connection' })
    expect(await rejectionOf(client.events().next())).toBeInstanceOf(TypeError)
  })

  it('keeps no listener on a signal that outlives the iteration', async () => {
    const listeners = new Set<unknown>()
    const signal = {
      aborted: false,
      addEventListener: (_type: 'abort', listener: () => void) => void listeners.add(listener),
      removeEventListener: (_type: 'abort', listener: () => void) => void listeners.delete(listener),
    }
    server.push()
    for await (const _event of events({ lastEventId: 'cur_0', signal })) break
    expect(listeners.size).toBe(0)
  })

  it('keeps up with a burst, whatever its size', async () => {
    const stream = events()
    const count = 2_000
    const next = take(stream, count)
    await server.listened()
    const sent = Array.from({ length: count }, () => server.push().data.id)
    expect((await next).map(({ data }) => data.id)).toEqual(sent)
    await stream.return()
  })
})
