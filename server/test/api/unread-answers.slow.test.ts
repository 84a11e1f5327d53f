/** Callers that ask for much and read nothing: what is held for them is bounded, and nobody else waits for them. */
import { connect, type Socket } from 'node:net'
import { until } from '@countersign/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { CHECKS, StalledConnections } from '#server/http/stalled-connections'
import { UnreadAnswers } from '#server/http/unread-answers'
import { openSqliteStore } from '#server/stores/sqlite/open'
import { type RunningServer, runServer } from '../running-server.js'
import { allowing, createPolicy, decide, makeKey, succeed } from './refunds.js'

const MIB = 1024 * 1024
const BYTES_PER_KEY = 2 * MIB
/** Shorter than it is for users. */
const STALLED_AFTER_MS = 1500
/** More than what systems hold of a connection, in pages of a mebibyte. */
const LISTS = 16

class CountedAnswers extends UnreadAnswers {
  made = 0

  override hold(...args: Parameters<UnreadAnswers['hold']>) {
    this.made += 1
    return super.hold(...args)
  }
}

let server: RunningServer
let unread: CountedAnswers
let sockets: Socket[]
beforeEach(async () => {
  unread = new CountedAnswers(BYTES_PER_KEY)
  sockets = []
})
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  await server.stop()
})

async function start(stalledAfterMs?: number): Promise<void> {
  const settings = { rateLimitPerSecond: 0 }
  // On the embedded store, which answers soon: this is about connections.
  const openStore = (dataDir: string) => openSqliteStore({ dataDir })
  const parts = { unread, openStore, ...(stalledAfterMs !== undefined && { stalledAfterMs }) }
  server = await runServer({ settings, parts })
  const context = { text: 'x'.repeat(65_000) }
  for (let i = 0; i < 20; i++) await decide(server, { agent_id: 'agent:large', action: 'a.b', context })
}

const listRequest = (key: string) =>
  `GET /v1/decisions?limit=200&agent_id=agent:large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n\r\n`

/** A connection on which requests were sent, and of which nothing is read. */
async function open(requests: string): Promise<Socket> {
  const socket = connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true })
  sockets.push(socket)
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('connect', resolve))
  socket.pause().write(requests)
  return socket
}

describe('who does not read what a key asked for', () => {
  it('has a bounded number of bytes held, and the key decides and changes things all the same', async () => {
    await start()
    await createPolicy(server, allowing('a.c'))
    const other = await makeKey(server, ['decisions:read'])
    const socket = await open(listRequest(server.key).repeat(LISTS))
    let most = 0
    const refused = await until('lists to be refused', async () => {
      const answer = await server.call('GET', '/v1/decisions?limit=1')
      most = Math.max(most, unread.total)
      return answer.status === 429 ? answer : undefined
    })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.body).toMatchObject({ code: 'rate_limited', detail: expect.stringContaining('still unread') })
    expect((await server.call('GET', '/v1/keys/self')).status).toBe(429)
    expect((await decide(server, { agent_id: 'agent:1', action: 'a.c' })).effect).toBe('allow')
    await succeed(server.call('POST', '/v1/agents/agent:1/suspend', { body: {} }))
    await succeed(server.call('GET', '/v1/decisions?limit=1', { key: other.key }))
    // One answer may go beyond it: which one does is known when it is there.
    expect(Math.max(most, unread.total)).toBeLessThanOrEqual(BYTES_PER_KEY + 2 * MIB)

    const said = await readAll(socket, LISTS)
    expect(said).toContain(200)
    expect(said).toContain(429)
    await until('all of it to be given up', async () => (unread.total === 0 ? true : undefined))
    await succeed(server.call('GET', '/v1/decisions?limit=1'))
  })

  it('has nothing held any more when its connection is gone', async () => {
    await start()
    const socket = await open(listRequest(server.key).repeat(LISTS))
    await until('something to be held', async () => (unread.total >= BYTES_PER_KEY ? true : undefined))
    socket.destroy()
    await until('nothing to be held', async () => (unread.total === 0 ? true : undefined))
    await succeed(server.call('GET', '/v1/decisions?limit=1'))
  })
})

describe('a connection that takes nothing of its answer', () => {
  // All lists are answered, so that more waits than systems hold of a connection.
  beforeEach(() => {
    unread = new CountedAnswers(2 * LISTS * MIB)
  })

  it('is ended, whatever it sends meanwhile, and half closed, too', async () => {
    await start(STALLED_AFTER_MS)
    const silent = await open(listRequest(server.key).repeat(LISTS))
    await until('it to be ended', async () => (endedByServer() === 1 ? true : undefined))
    await until('nothing to be held', async () => (unread.total === 0 ? true : undefined))
    // A socket that is not read learns of its end when it writes.
    await until('it to be closed', async () => {
      if (!silent.destroyed) silent.write('GET /livez HTTP/1.1\r\nHost: x\r\n\r\n')
      return silent.destroyed ? true : undefined
    })

    const madeBefore = unread.made
    const halfClosed = await open(listRequest(server.key).repeat(LISTS))
    await until('all lists to be answered', async () => (unread.made === madeBefore + LISTS ? true : undefined))
    halfClosed.end()
    await until('it to be ended, too', async () => (endedByServer() === 2 ? true : undefined))
  })

  it('is not ended while it waits for its answer, or takes it slowly', async () => {
    await start(STALLED_AFTER_MS)
    await createPolicy(server, { name: 'review', rules: [{ action: 'a.r', effect: 'review' }] })
    const { id } = await decide(server, { agent_id: 'agent:1', action: 'a.r' })
    const waiting = server.call('GET', `/v1/decisions/${id}?wait=1`)
    const looks = vi.spyOn(StalledConnections.prototype, 'check')
    const { key } = await makeKey(server, ['decisions:read'])
    const slow = await open(listRequest(key).repeat(LISTS))
    expect(await readAll(slow, LISTS, 250)).toEqual(Array(LISTS).fill(200))
    expect(looks.mock.calls.length).toBeGreaterThan(CHECKS)
    looks.mockRestore()
    expect((await waiting).body.status).toBe('awaiting_review')
    expect(endedByServer()).toBe(0)
  })
})

const endedByServer = () => server.logged.filter(({ message }) => /did not read its response/.test(message)).length

/** Reads this many answers, with a pause after each mebibyte; their statuses. */
async function readAll(socket: Socket, count: number, pauseMs = 0): Promise<number[]> {
  const statuses: number[] = []
  let head = ''
  let bodyLeft = 0
  let sincePause = 0
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    for (let at = 0; at < chunk.length; ) {
      if (bodyLeft > 0) {
        const taken = Math.min(bodyLeft, chunk.length - at)
        bodyLeft -= taken
        at += taken
        continue
      }
      const rest = chunk.toString('latin1', at)
      const before = head.length
      head += rest
      const end = head.indexOf('\r\n\r\n')
      if (end === -1) break
      at += end + 4 - before
      statuses.push(Number(head.slice(9, 12)))
      bodyLeft = Number(/\r\ncontent-length: (\d+)/i.exec(head.slice(0, end + 2))?.[1])
      head = ''
    }
    if (statuses.length === count && bodyLeft === 0) return statuses
    sincePause += chunk.length
    if (pauseMs > 0 && sincePause > MIB) {
      sincePause = 0
      await new Promise((next) => setTimeout(next, pauseMs))
    }
  }
  throw new Error(`The connection ended after ${statuses.length} answers.`)
}
