/** The proxy under load and in trouble, over both of its transports: no run twice, no hold lost, no process left, no key shown. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Operator, type Relay, startRelay, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { commandOf, proxyEnvironment, saidUrl } from './proxies.js'
import { isAlive } from './stdio/proxied-server.js'

const SERVER = fileURLToPath(new URL('noting-server.mjs', import.meta.url))
const WAIT = { timeout: 60_000, interval: 20 }
const CALLS = 100
const PAID = 30

const point = useDecisionPoint()
let apiKey: string

beforeAll(async () => {
  apiKey = await new Operator(point()).makeKey()
})

/** A client, the proxy, and a server that notes what it does; the budget pays for some calls. */
class Trouble {
  readonly client = new Client({ name: 'trouble', version: '1.0.0' })
  /** What the client could not read. */
  readonly faults: Error[] = []
  readonly #folder = mkdtempSync(join(tmpdir(), 'trouble-'))
  readonly #children: ChildProcess[] = []
  readonly operator = new Operator(point())
  policyId = ''
  /** What the proxy has written to its standard error. */
  log = ''
  /** The command lines of all processes that were started here. */
  readonly commandLines: string[] = []

  constructor(
    readonly kind: 'stdio' | 'HTTP',
    readonly relay: Relay,
  ) {}

  static async open(kind: 'stdio' | 'HTTP'): Promise<Trouble> {
    const trouble = new Trouble(kind, await startRelay(point().url))
    onTestFinished(() => trouble.#end())
    await trouble.#start()
    return trouble
  }

  async #start(): Promise<void> {
    const action = `load.${crypto.randomUUID()}`
    const budget = { limit: PAID, unit: 'calls', amount: 1, period: 'total' }
    this.policyId = (await this.operator.makePolicy(action, 'allow', budget)).id
    const config = join(this.#folder, 'config.json')
    const tools = ['pay', 'big', 'slow'].map((name) => [name, { action, resource: null }])
    writeFileSync(config, JSON.stringify({ tools: Object.fromEntries(tools) }))
    const env = { ...proxyEnvironment(this.relay.url, apiKey), NOTES: this.#notes }
    const options = ['--agent', 'agent:load', '--config', config]
    this.client.onerror = (error) => this.faults.push(error)
    if (this.kind === 'stdio') {
      const { command, args } = commandOf(...options, '--', process.execPath, SERVER)
      const transport = new StdioClientTransport({ command, args, env, stderr: 'pipe' })
      transport.stderr?.on('data', (chunk) => {
        this.log += chunk
      })
      await this.client.connect(transport)
      this.commandLines.push(commandLineOf(transport.pid ?? 0))
      return
    }
    const upstream = await saidUrl(this.#run(process.execPath, [SERVER, 'http'], { NOTES: this.#notes }))
    const proxied = commandOf(...options, '--listen', '127.0.0.1:0', '--upstream', upstream.href)
    const proxy = this.#run(proxied.command, proxied.args, env)
    await this.client.connect(new StreamableHTTPClientTransport(await saidUrl(proxy)))
    this.commandLines.push(commandLineOf(proxy.pid ?? 0))
  }

  #run(command: string, args: readonly string[], env: Record<string, string>): ChildProcess {
    const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
    child.stderr.on('data', (chunk) => {
      this.log += chunk
    })
    this.#children.push(child)
    return child
  }

  get #notes(): string {
    return join(this.#folder, 'notes')
  }

  call(name: string, args: Record<string, unknown> = {}) {
    return this.client.callTool({ name, arguments: args }, undefined, { timeout: 120_000 })
  }

  /** What the server has noted that begins so. */
  noted(beginning: string): string[] {
    const notes = existsSync(this.#notes) ? readFileSync(this.#notes, 'utf8').split('\n') : []
    return notes.filter((note) => note.startsWith(beginning))
  }

  /** Resolves once the tool `slow` runs. */
  async slowBegins(): Promise<void> {
    await vi.waitFor(() => expect(this.noted('slow begins')).toHaveLength(1), WAIT)
  }

  endSlow(): void {
    writeFileSync(`${this.#notes}.go`, '')
  }

  /** Of the server. */
  get pid(): number {
    return Number(this.noted('pid ')[0]?.slice(4))
  }

  /** What the one decision has become. */
  async expectStatus(status: string): Promise<void> {
    expect(this.relay.decisions).toHaveLength(1)
    const { id = '' } = { ...this.relay.decisions[0] }
    await vi.waitFor(async () => expect((await this.operator.decision(id)).status).toBe(status), WAIT)
  }

  account() {
    return this.operator.account(this.policyId)
  }

  async #end(): Promise<void> {
    const proxyOverPipes = this.kind === 'stdio' ? [this.pid] : []
    await this.client.close()
    for (const child of this.#children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    }
    // Nobody of us has ended it: the proxy has.
    await vi.waitFor(() => expect(proxyOverPipes.filter(isAlive)).toEqual([]), WAIT)
    await this.relay.close()
    rmSync(this.#folder, { recursive: true })
  }
}

const commandLineOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8')

describe.each(['stdio', 'HTTP'] as const)('the proxy over %s', (kind) => {
  it('41: lets run as many of 100 parallel calls as the budget pays for, each once', async () => {
    const trouble = await Trouble.open(kind)
    const orders = Array.from({ length: CALLS }, (_, order) => order)
    const results = await Promise.all(orders.map((order) => trouble.call('pay', { order })))
    const paid = orders.filter((order) => results[order]?.isError !== true)
    expect(paid).toHaveLength(PAID)
    for (const order of paid) expect(results[order]?.content).toEqual([{ type: 'text', text: `paid ${order}` }])
    expect(trouble.noted('pay ').toSorted()).toEqual(paid.map((order) => `pay ${order}`).toSorted())
    await vi.waitFor(async () => expect(await trouble.account()).toEqual({ spent: PAID, reserved: 0 }), WAIT)
    expect(trouble.faults).toEqual([])
  })

  it('48: gives a result of 10 MB', async () => {
    const trouble = await Trouble.open(kind)
    // A client of the SDK takes no line of more than 10 MiB over pipes.
    const bytes = 10_000_000
    const { content } = await trouble.call('big', { bytes })
    const [{ text }] = content as [{ text: string }]
    expect(text.length).toBe(bytes)
    expect(text.replaceAll('x', '')).toBe('')
    await trouble.expectStatus('confirmed')
    expect(trouble.faults).toEqual([])
  })

  it('49: answers what is in progress when the server is killed, and leaves its hold', async () => {
    const trouble = await Trouble.open(kind)
    const calling = trouble.call('slow')
    const failure = calling.then(() => null, String)
    await trouble.slowBegins()
    process.kill(trouble.pid, 'SIGKILL')
    expect(await failure).not.toBe(null)
    await trouble.expectStatus('authorized')
    expect(await trouble.account()).toEqual({ spent: 0, reserved: 1 })
    expect(trouble.noted('slow')).toEqual(['slow begins'])
  })

  it('settles what is in progress by its end when the client is gone, once', async () => {
    const trouble = await Trouble.open(kind)
    const calling = trouble.call('slow').catch(() => undefined)
    await trouble.slowBegins()
    const closing = trouble.client.close()
    trouble.endSlow()
    await Promise.all([calling, closing])
    await trouble.expectStatus('confirmed')
    expect(await trouble.account()).toEqual({ spent: 1, reserved: 0 })
    expect(trouble.noted('slow')).toEqual(['slow begins', 'slow ends'])
  })

  it('53: delays nothing else while the decision point takes its time', async () => {
    const trouble = await Trouble.open(kind)
    const answer = trouble.relay.hold('ask')
    const calling = trouble.call('pay', { order: 1 })
    await answer.arrived
    await trouble.client.ping()
    expect((await trouble.client.listTools()).tools).toHaveLength(3)
    expect(trouble.noted('pay')).toEqual([])
    answer.release()
    expect((await calling).isError).not.toBe(true)
    expect(trouble.noted('pay')).toEqual(['pay 1'])
  })

  it('52: shows its key to nobody', async () => {
    const trouble = await Trouble.open(kind)
    await trouble.call('pay', { order: 1 })
    const environment = readFileSync(`/proc/${trouble.pid}/environ`, 'utf8')
    expect(environment).toContain('NOTES=')
    expect(environment).not.toMatch(/countersign_/i)
    const seen = [environment, commandLineOf(trouble.pid), ...trouble.commandLines, ...trouble.noted(''), trouble.log]
    expect(seen.filter((text) => text.includes(apiKey))).toEqual([])
    expect(trouble.commandLines[0]).toContain('--agent')
    for (const permit of trouble.relay.permits) expect(seen.join('\n')).not.toContain(permit)
    expect(trouble.relay.permits.size).toBe(1)
  })
})
