/** `countersign tail` and `countersign listen`, over restarts of the server whose live events they follow. */
import { answerProblem, type StubEventStream, startStubEventStream, until } from '@countersign/testkit'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { call } from './call.js'
import { type Child, endChildren } from './child.js'
import { CHOSEN_KEY, countersign, MAIN, newDirectory, removeDirectories, ShippedServer } from './shipped-server.js'
import { Terminal } from './terminal.js'
import { Receiver } from './webhook-receivers.js'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequences of colours begin with one
const COLOR = /\u001b\[/

let server: StubEventStream
beforeEach(async () => {
  server = await startStubEventStream()
})
afterEach(async () => {
  await endChildren()
  await server.stop()
  removeDirectories()
})

function environment(change: Readonly<Record<string, string>> = {}) {
  return { COUNTERSIGN_API_KEY: 'key-of-a-test', COUNTERSIGN_URL: server.url, ...change }
}

const run = (args: readonly string[], change?: Readonly<Record<string, string>>) =>
  countersign(args, { env: environment(change) })

const linesOf = ({ stdout }: Child) => stdout.split('\n').slice(0, -1)
const lines = (child: Child, count: number) =>
  until(`${count} lines of ${child.stdout}${child.stderr}`, () => {
    const found = linesOf(child)
    return found.length >= count ? found : undefined
  })

/** Ends it as a person does, and sees that it ends well. */
async function endWell(child: Child, signal: NodeJS.Signals = 'SIGINT'): Promise<void> {
  child.signal(signal)
  expect(await child.end()).toEqual({ code: 0, signal: null })
  expect(child.stderr).toBe('')
}

describe('tail', () => {
  it('prints a line for each change, also of the time in which the server was gone', async () => {
    const tail = run(['tail'])
    await server.listened()
    server.push({}, { status: 'denied', effect: 'deny', reason: 'Refunds are closed.' })
    await lines(tail, 1)
    await server.stop()
    server.push({ type: 'decision.approved', sequence: 2 }, { status: 'approved' })
    await server.start()
    await server.listened()
    server.push({ type: 'decision.claimed', sequence: 3 })
    const [denied, approved, claimed] = await lines(tail, 3)
    expect(denied).toMatch(/^\S+Z {2}denied +agent:support-7 +payment\.refund +order:8812 +- +Refunds are closed\.$/)
    expect(approved).toMatch(/^\S+Z {2}approved +agent:support-7 /)
    expect(claimed).toMatch(/^\S+Z {2}authorized\/claimed +agent:support-7 /)
    expect(tail.stdout).not.toMatch(COLOR)
    await endWell(tail)
    expect(linesOf(tail)).toHaveLength(3)
  })

  it('asks for what its filters say, with the key of the environment, at the URL of its option', async () => {
    const filters = ['--agent', 'agent:a', '--action', 'a.b', '--resource', 'order:1', '--effect', 'deny']
    const others = ['--status', 'denied', '--policy', 'pol_1', '--request-hash', 'h', '--type', 'decision.created']
    const tail = run(['tail', ...filters, ...others, '--url', server.url], { COUNTERSIGN_URL: 'http://127.0.0.1:9' })
    await server.listened()
    const [asked] = server.requests
    expect(Object.fromEntries(new URL(asked?.url ?? '', server.url).searchParams)).toEqual({
      ...{ agent_id: 'agent:a', action: 'a.b', resource: 'order:1', effect: 'deny' },
      ...{ status: 'denied', policy_id: 'pol_1', request_hash: 'h', type: 'decision.created' },
    })
    expect(asked?.headers.authorization).toBe('Bearer key-of-a-test')
    await endWell(tail, 'SIGTERM')
  })

  it('prints each event as JSON, safe for a terminal', async () => {
    const tail = run(['tail', '--json'])
    await server.listened()
    const event = server.push({}, { resource: 'order:\u202e1\u001b[2J' })
    const [line = ''] = await lines(tail, 1)
    expect(JSON.parse(line)).toEqual({ id: 'cur_1', ...event })
    expect(line).toContain('order:\\u202e1\\u001b[2J')
    await endWell(tail)
  })

  it.each([
    ['colours the status on a terminal', {}, true],
    ['colours nothing with NO_COLOR', { NO_COLOR: '1' }, false],
  ])('%s', async (_what, change, isColored) => {
    const terminal = new Terminal(`${process.execPath} ${MAIN} tail`, {
      env: environment(change as Record<string, string>),
    })
    await server.listened()
    server.push({}, { resource: 'order:\u001b[31m1' })
    await terminal.says(/payment\.refund.*\r\n/)
    expect(COLOR.test(terminal.stdout)).toBe(isColored)
    expect(terminal.screen).toContain('order:\\u{1b}[31m1')
    terminal.pressCtrlC()
    expect(await terminal.end()).toEqual({ code: 0, signal: null })
  })

  it('ends well when nobody reads it any more', async () => {
    const head = new Terminal(`sh -c '${process.execPath} ${MAIN} tail | head -n 1'`, { env: environment() })
    await server.listened()
    server.push()
    await head.says(/payment\.refund/)
    await until('the end of the pipe', () => {
      if (head.ending === undefined) server.push()
      return head.ending
    })
    expect(head.stdout).not.toMatch(/EPIPE|Error/)
  })

  it('says that no server answers, and begins when one does', async () => {
    await server.stop()
    const tail = run(['tail'])
    await until('a warning', () => (tail.stderr.includes('No Countersign server answers at http') ? true : undefined))
    await server.start()
    await server.listened()
    server.push()
    await lines(tail, 1)
    tail.signal('SIGTERM')
    expect(await tail.end()).toEqual({ code: 0, signal: null })
  })

  it.each([
    ['without a key', ['tail'], { COUNTERSIGN_API_KEY: '' }, 78, 'Set COUNTERSIGN_API_KEY'],
    ['for a URL that is none', ['tail', '--url', 'localhost'], {}, 64, 'baseUrl'],
    ['for an unknown option', ['tail', '--colour'], {}, 64, 'unknown option'],
    ['without a receiver', ['listen'], {}, 64, '--forward-to'],
    ['for a receiver that is none', ['listen', '--forward-to', 'ftp://a'], {}, 64, 'must be an https or http URL'],
    [
      'for an event that webhooks do not know',
      ['listen', '--forward-to', 'http://127.0.0.1:9', '--events', 'decision.claimed'],
      {},
      64,
      'decision.review_requested',
    ],
    [
      'for a secret that is too short',
      ['listen', '--forward-to', 'http://127.0.0.1:9', '--secret', 'whsec_AAAA'],
      {},
      64,
      'whsec_ and the base64 of 24 to 64 bytes',
    ],
  ])('ends at once %s', async (_what, args, change, code, message) => {
    const command = run(args, change as Record<string, string>)
    expect(await command.end()).toEqual({ code, signal: null })
    expect(command.stderr).toContain(message)
    expect(command.stdout).toBe('')
  })

  it.each([
    [400, 'validation_failed', 64],
    [401, 'unauthorized', 78],
    [403, 'insufficient_scope', 78],
    [404, 'not_found', 1],
  ])('ends when the server answers %i, and says why', async (status, problem, code) => {
    server.answerNext(answerProblem(status, problem))
    const command = run(['tail'])
    expect(await command.end()).toEqual({ code, signal: null })
    expect(command.stderr).toContain(problem)
    expect(command.stderr).not.toContain('key-of-a-test')
  })
})

describe('listen', () => {
  const receivers: Receiver[] = []
  afterEach(() => {
    for (const receiver of receivers.splice(0)) receiver.close()
  })

  function receiverOf(...args: ConstructorParameters<typeof Receiver>): Receiver {
    const receiver = new Receiver(...args)
    receivers.push(receiver)
    return receiver
  }

  it('forwards as webhooks do, signed with the secret that it prints', async () => {
    const receiver = receiverOf()
    const url = await receiver.open()
    const command = run(['listen', '--forward-to', url])
    const [, secret = ''] = await command.says(/^Secret (whsec_[A-Za-z0-9+/=]+)\n/m)
    expect(command.stdout).toContain(`Forwarding to ${url}\n`)
    receiver.verifier = new Webhook(secret)
    await server.listened()
    const sent = [
      server.push(),
      server.push({}, { effect: 'deny', status: 'denied' }),
      server.push({ type: 'decision.redeemed' }),
      server.push({}, { effect: 'review', status: 'awaiting_review' }),
    ]
    await lines(command, 2 + 5)
    expect(receiver.faults).toEqual([])
    expect(receiver.verified).toBe(5)
    expect(receiver.received.map(({ body }) => [body.type, body.data.id])).toEqual([
      ['decision.created', sent[0]?.data.id],
      ['decision.created', sent[1]?.data.id],
      ['decision.denied', sent[1]?.data.id],
      ['decision.created', sent[3]?.data.id],
      ['decision.review_requested', sent[3]?.data.id],
    ])
    expect(receiver.received[2]?.body).toEqual({ ...sent[1], type: 'decision.denied' })
    expect(receiver.received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'Countersign',
    })
    expect(linesOf(command).slice(2)).toEqual(
      receiver.received.map(({ id, body }) => `204  ${body.type.padEnd(25)}  ${body.data.id}  ${id}`),
    )
    expect(receiver.ids.size).toBe(5)
    await endWell(command)
  })

  it('gives the same event the same id when it runs again, and signs with the secret of its option', async () => {
    const receiver = receiverOf()
    receiver.verifier = new Webhook(SECRET)
    const url = await receiver.open()
    const event = { timestamp: '2026-11-21T10:00:00.000Z' }
    const about = { id: 'dec_01kagx5v5ne8sr6w1y6gqk4t2j' }
    for (const count of [1, 2]) {
      const command = run(['listen', '--forward-to', url, '--secret', SECRET])
      await server.listened()
      server.push(event, about)
      await until('a delivery', () => (receiver.received.length === count ? true : undefined))
      await endWell(command, 'SIGTERM')
      await until('the end of the stream', () => (server.listenerCount() === 0 ? true : undefined))
    }
    expect(receiver.verified).toBe(2)
    expect(receiver.ids.size).toBe(1)
  })

  it('forwards only the events of its option, and reads no others', async () => {
    const receiver = receiverOf()
    const events = 'decision.denied,decision.confirmed'
    const command = run(['listen', '--forward-to', await receiver.open(), '--events', events])
    await server.listened()
    expect(server.requests[0]?.url).toBe('/v1/events?type=decision.created%2Cdecision.confirmed')
    server.push({}, { effect: 'deny', status: 'denied' })
    server.push({ type: 'decision.confirmed', sequence: 2 }, { status: 'confirmed' })
    await lines(command, 2 + 2)
    expect(receiver.received.map(({ body }) => body.type)).toEqual(['decision.denied', 'decision.confirmed'])
    await endWell(command)
  })

  it('tells of a receiver that fails, skips the event, and goes on, also over restarts of the server', async () => {
    let status = 500
    const receiver = receiverOf(
      (_received, res) => void res.writeHead(status, { location: '/other' }).end('no\u001b[2J'),
    )
    const command = run(['listen', '--forward-to', await receiver.open()])
    await server.listened()
    server.push()
    await lines(command, 2 + 1)
    status = 302
    server.push()
    await lines(command, 2 + 2)
    receiver.close()
    server.push()
    await lines(command, 2 + 3)
    await server.stop()
    server.push()
    await server.start()
    const [, , failed, redirected, refused, refusedAgain] = await lines(command, 2 + 4)
    expect(failed).toMatch(/^500 {2}decision\.created .* {2}The endpoint responded with 500\.$/)
    expect(redirected).toMatch(/^302 .* {2}The endpoint responded with 302\. Redirects are not followed\.$/)
    expect(refused).toMatch(/^- {4}decision\.created .* {2}The connection was refused\.$/)
    expect(refusedAgain).toMatch(/ {2}The connection was refused\.$/)
    expect(receiver.received).toHaveLength(2)
    await endWell(command)
  })

  it('ends at once while a receiver hangs', async () => {
    const receiver = receiverOf(() => undefined)
    const command = run(['listen', '--forward-to', await receiver.open()])
    await server.listened()
    server.push()
    await until('a delivery', () => (receiver.received.length === 1 ? true : undefined))
    command.signal('SIGINT')
    expect(await command.end(5_000)).toEqual({ code: 0, signal: null })
    expect(linesOf(command)).toHaveLength(2)
  })
})

describe('with the server as it is shipped', () => {
  it('tail and listen tell of a decision, also after the server was killed', async () => {
    const dataDir = newDirectory()
    let shipped = await ShippedServer.start({ dataDir })
    const { port } = new URL(shipped.url)
    const env = { COUNTERSIGN_URL: shipped.url, COUNTERSIGN_API_KEY: CHOSEN_KEY }
    const receiver = new Receiver()
    const tail = countersign(['tail', '--json'], { env })
    const listen = countersign(['listen', '--forward-to', await receiver.open(), '--secret', SECRET], { env })
    receiver.verifier = new Webhook(SECRET)
    const ask = () => {
      const body = { agent_id: 'agent:support-7', action: 'payment.refund' }
      return call(shipped.url, 'POST', '/v1/decisions', { key: CHOSEN_KEY, body })
    }
    // It is not said when the streams have begun: asked for until both tell of it.
    await until('the first line of each', async () => {
      await ask()
      return tail.stdout !== '' && receiver.received.length > 0 ? true : undefined
    })
    await shipped.kill()
    shipped = await ShippedServer.start({ dataDir, env: { PORT: port } })
    const { id } = (await ask()).body
    await tail.says(new RegExp(id))
    await until(
      'the delivery',
      () => receiver.received.filter(({ body }) => body.data.id === id).length === 2 || undefined,
    )
    expect(receiver.faults).toEqual([])
    const ids = linesOf(tail).map((line) => JSON.parse(line).data.id)
    expect(new Set(ids).size).toBe(ids.length)
    await endWell(tail)
    await endWell(listen)
    receiver.close()
    await shipped.stop()
  })
})
