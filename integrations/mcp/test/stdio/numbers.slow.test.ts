/** Numbers of all spellings through the proxy as it is shipped, by the bytes that either side gets. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { commandOf, proxyEnvironment } from '../proxies.js'
import { Rig } from '../rig.js'
import { ALL_SPELLINGS, SAFE_SPELLINGS, UNSAFE_NUMBERS } from '../spellings.js'

const EXACT_SERVER = fileURLToPath(new URL('exact-server.mjs', import.meta.url))

const point = useDecisionPoint()
let rig: Rig
let environment: Record<string, string>
beforeAll(async () => {
  rig = await Rig.open(point())
  environment = proxyEnvironment(point().url, await rig.operator.makeKey())
}, 60_000)

/** A server and a client of texts, with the proxy between them or not. */
class Texts {
  /** What the client got, line by line. */
  readonly lines: string[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'exact-'))
  readonly #child: ChildProcessByStdio<Writable, Readable, null>

  constructor(proxied: 'proxied' | 'direct', mode: 'enforce' | 'observe' = 'enforce') {
    const config = join(this.#folder, 'config.json')
    const echo = { action: 't.allow', resource: null, context: 'arguments' }
    // The server has methods of its own.
    writeFileSync(config, JSON.stringify({ agent_id: rig.agentId, mode, tools: { echo }, others: 'pass' }))
    const server = [process.execPath, EXACT_SERVER, ALL_SPELLINGS.join()]
    const proxy = commandOf('--config', config, '--', ...server)
    const [command = '', ...args] = proxied === 'direct' ? server : [proxy.command, ...proxy.args]
    const env = { ...environment, NOTES: this.#notes }
    this.#child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
    let rest = ''
    this.#child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      this.lines.push(...lines)
    })
    onTestFinished(async () => {
      const exited = once(this.#child, 'exit')
      this.#child.stdin.end()
      await exited
      rmSync(this.#folder, { recursive: true })
    })
  }

  get #notes(): string {
    return join(this.#folder, 'notes')
  }

  send(...lines: readonly string[]): void {
    for (const line of lines) this.#child.stdin.write(`${line}\n`)
  }

  /** The line that the client got last, once there are this many. */
  async line(count: number): Promise<string> {
    await expect.poll(() => this.lines.length, { timeout: 15_000 }).toBeGreaterThanOrEqual(count)
    return this.lines[count - 1] as string
  }

  /** What the server got, line by line. */
  async got(count: number): Promise<string[]> {
    const notes = (): string[] => readFileSync(this.#notes, 'utf8').split('\n').slice(0, -1)
    await expect.poll(() => notes().length, { timeout: 15_000 }).toBeGreaterThanOrEqual(count)
    return notes()
  }
}

const request = (id: string, method: string, params = '{}'): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}`
const call = (id: string, args: string): string => request(id, 'tools/call', `{"name":"echo","arguments":${args}}`)

const INITIALIZE = request(
  '0',
  'initialize',
  '{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"texts","version":"1"}}',
)

test('a client and a server get the same bytes as without it', async () => {
  const conversations = [new Texts('direct'), new Texts('proxied')] as const
  for (const texts of conversations) {
    texts.send(INITIALIZE)
    await texts.line(1)
    texts.send('{"jsonrpc":"2.0","method":"notifications/initialized"}')
    await texts.line(2)
    texts.send(request('2', 'tools/list'))
    await texts.line(3)
    texts.send(request('3', 'ping', `{"numbers":[${SAFE_SPELLINGS}]}`))
    await texts.line(4)
    texts.send(request('"4"', 'fails'))
    await texts.line(5)
    texts.send(request('5', 'asks', '{"as":"6"}'))
    await texts.line(7)
    texts.send(`{"jsonrpc":"2.0","id":6,"result":{"numbers":[${SAFE_SPELLINGS}]}}`)
    await texts.got(7)
    texts.send(call('7', `{"numbers":[${SAFE_SPELLINGS}],"x":{"y":1.0}}`))
    await texts.line(8)
    texts.send(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.0,"a":[${SAFE_SPELLINGS}]}}`,
    )
    texts.send(`{"jsonrpc":"2.0","method":"acme/told","params":{"a":[${SAFE_SPELLINGS}]}}`)
    await texts.got(10)
    texts.send(request('11', 'asks', '{"as":"12"}'))
    await texts.line(10)
    texts.send(`{"jsonrpc":"2.0","id":12,"error":{"code":-32000,"message":"1.0","data":[${SAFE_SPELLINGS}]}}`)
  }
  const [direct, proxied] = conversations
  expect(await proxied.got(12)).toEqual(await direct.got(12))
  expect(proxied.lines.toSpliced(7, 1)).toEqual(direct.lines.toSpliced(7, 1))
  // The result of a call has its decision in addition, and is rewritten.
  const withoutDecision = proxied.lines[7]?.replace(/,"_meta":\{"countersign\/decision":\{[^}]*\}\}/, '')
  expect(withoutDecision).toBe(direct.lines[7]?.replace(/(?<=[:,]) /g, ''))
  expect(direct.lines[7]).toContain(ALL_SPELLINGS.join())
})

describe('a number that no double holds', () => {
  test('keeps its call from running, by the name of the number, whatever the id', async () => {
    const texts = new Texts('proxied')
    for (const [index, number] of UNSAFE_NUMBERS.entries()) {
      texts.send(call(String(index), `{"a":[{"id":${number}}]}`))
      const line = await texts.line(index + 1)
      expect(line).toContain(`"id":${index},"result":{"content":[{"type":"text","text":"The call did not run.`)
      expect(line).toContain(`The number ${number} is out of range`)
      expect(line).toContain('"isError":true')
      expect(line).toContain('"countersign/decision":{"id":null,"effect":"deny","reason":"arguments_refused"}')
    }
    texts.send(call('"last"', '{"a":9007199254740991}'))
    expect(await texts.line(UNSAFE_NUMBERS.length + 1)).toContain('9007199254740991')
    expect(await texts.got(1)).toEqual([call('"last"', '{"a":9007199254740991}')])
  })

  test('refuses any other message by its id, with its digits', async () => {
    const texts = new Texts('proxied')
    let count = 0
    for (const number of UNSAFE_NUMBERS) {
      const refused = (id: string): string => `{"jsonrpc":"2.0","id":${id},"error":{"code":-32600,`
      const messages = [
        [request(number, 'ping'), number],
        [call(number, '{}'), number],
        [request('1', 'ping', `{"a":${number}}`), '1'],
        [`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":${number}}}`, 'null'],
        [`[${request('"a"', 'ping', `[[${number}]]`)}]`, '"a"'],
      ] as const
      for (const [message, id] of messages) {
        texts.send(message)
        count += 1
        expect(await texts.line(count)).toContain(refused(id))
      }
    }
    texts.send(request('1', 'ping'))
    await texts.line(count + 1)
    expect(await texts.got(1)).toEqual([request('1', 'ping')])
  })

  test('in an answer of the client ends the request of the server by an error', async () => {
    const texts = new Texts('proxied')
    texts.send(request('1', 'asks', `{"as":"'s'"}`))
    await texts.line(2)
    texts.send('{"jsonrpc":"2.0","id":"s","result":{"a":9007199254740993}}')
    const [, answer] = await texts.got(2)
    expect(answer).toContain('{"jsonrpc":"2.0","id":"s","error":{"code":-32603,')
    expect(answer).toContain('9007199254740993')
  })

  test('passes as it is where calls are only observed', async () => {
    const texts = new Texts('proxied', 'observe')
    texts.send(call('1', '{"a":[9007199254740993,1e-400,1e400]}'), request('2', 'ping', '{"a":12345678901234567891}'))
    await texts.line(2)
    expect((await texts.got(2)).toSorted()).toEqual(
      [
        request('2', 'ping', '{"a":12345678901234567891}'),
        call('1', '{"a":[9007199254740993,1e-400,1e400]}'),
      ].toSorted(),
    )
  })
})

test.each([
  '9007199254740993',
  '12345678901234567891',
  '1.5',
  '1.0',
  '1E2',
  '-0',
  'null',
  '"7"',
  '"1.0"',
  '"countersign:id:1"',
])('a request of the server with the id %s is answered by this id', async (id) => {
  const texts = new Texts('proxied')
  texts.send(request('1', 'asks', `{"as":"${id.replaceAll('"', "'")}"}`))
  const asked = JSON.parse(await texts.line(1)) as { readonly id: string }
  expect(asked).toMatchObject({ id: expect.any(String), method: 'roots/list' })
  texts.send(`{"jsonrpc":"2.0","id":${JSON.stringify(asked.id)},"result":{"roots":[]}}`)
  expect((await texts.got(2))[1]).toBe(`{"jsonrpc":"2.0","id":${id},"result":{"roots":[]}}`)
})

test.each(['{"a":1}', '[1]', 'true'])('a request of the server with the id %s gets an error', async (id) => {
  const texts = new Texts('proxied')
  texts.send(request('1', 'asks', `{"as":"${id.replaceAll('"', "'")}"}`))
  expect((await texts.got(2))[1]).toBe(
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: id must be a string or an integer"}}',
  )
  texts.send(request('2', 'ping'))
  expect(await texts.line(2)).toContain('"id": 2,')
  expect(texts.lines[0]).toContain('"id": 1,')
})
