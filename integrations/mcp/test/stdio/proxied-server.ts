/** The proxy as it is shipped, before the raw server, with a client of a few lines: what goes over the pipes is all in sight. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type Relay, startRelay, useDecisionPoint } from '@countersign/testkit/enforcement-suite'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { Rig } from '../rig.js'

export const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))
const RAW_SERVER = fileURLToPath(new URL('raw-server.mjs', import.meta.url))

export interface Message {
  readonly jsonrpc?: unknown
  readonly id?: unknown
  readonly method?: unknown
  readonly result?: { readonly content?: readonly { readonly text: string }[]; readonly isError?: boolean }
  readonly error?: { readonly code: number; readonly message: string }
}

export interface Setup {
  readonly url: string
  readonly apiKey: string
  /** Written into the configuration file; a text as it is, null for no file. */
  readonly config: object | string | null
  /** Before the dashes. */
  readonly options?: readonly string[]
  /** Of the raw server. */
  readonly flags?: readonly string[]
  /** In place of the raw server, with its arguments; null for nothing after the options. */
  readonly command?: readonly string[] | null
  readonly env?: NodeJS.ProcessEnv
}

export class ProxiedServer {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  /** Every message that came, in order. */
  readonly messages: Message[] = []
  readonly exited: Promise<{ readonly code: number | null; readonly signal: string | null }>
  readonly #notes: string
  #rest = ''
  #errors = ''

  constructor({ url, apiKey, config, options = [], flags = [], command, env = {} }: Setup) {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-mcp-'))
    this.#notes = join(folder, 'notes')
    if (config !== null)
      writeFileSync(join(folder, 'countersign-mcp.json'), typeof config === 'string' ? config : JSON.stringify(config))
    const server = command === null ? [] : ['--', ...(command ?? [process.execPath, RAW_SERVER, ...flags])]
    this.child = spawn(process.execPath, [CLI, ...options, ...server], {
      cwd: folder,
      env: { PATH: process.env.PATH, COUNTERSIGN_URL: url, COUNTERSIGN_API_KEY: apiKey, NOTES: this.#notes, ...env },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.exited = once(this.child, 'close').then(([code, signal]) => ({ code, signal }))
    this.child.stdin.on('error', () => undefined)
    this.child.stderr.on('data', (chunk) => {
      this.#errors += chunk
    })
    // Whatever comes is a message of JSON-RPC: no test may meet anything else.
    this.child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (this.#rest + chunk).split('\n')
      this.#rest = lines.pop() ?? ''
      for (const line of lines) {
        const message = JSON.parse(line) as Message
        expect(message.jsonrpc).toBe('2.0')
        this.messages.push(message)
      }
    })
    onTestFinished(async () => {
      this.child.kill('SIGKILL')
      // They share its standard error.
      for (const pid of this.pids().filter(isAlive)) process.kill(pid, 'SIGKILL')
      await this.exited
      rmSync(folder, { recursive: true })
    })
  }

  write(text: string | Buffer): void {
    this.child.stdin.write(text)
  }

  send(...messages: readonly object[]): void {
    for (const message of messages) this.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  call(id: unknown, name: string, args: object = {}): void {
    this.send({ id, method: 'tools/call', params: { name, arguments: args } })
  }

  /** Once there is one. */
  async answerTo(id: unknown): Promise<Message> {
    const find = (): Message | undefined => this.messages.find((message) => message.id === id && !message.method)
    await expect.poll(find, { timeout: 15_000 }).toBeDefined()
    return find() as Message
  }

  async textOf(id: unknown): Promise<string> {
    return (await this.answerTo(id)).result?.content?.[0]?.text ?? ''
  }

  get errors(): string {
    return this.#errors
  }

  /** What the raw server has noted. */
  notes(): string[] {
    return existsSync(this.#notes) ? readFileSync(this.#notes, 'utf8').split('\n').slice(0, -1) : []
  }

  /** Of the raw server, and of what it has started. */
  pids(): number[] {
    return this.notes().flatMap((note) => (note.startsWith('pid ') ? [Number(note.slice(4))] : []))
  }

  async noted(note: string): Promise<void> {
    await expect.poll(() => this.notes(), { timeout: 15_000 }).toContain(note)
  }

  /** Resolves when none of them runs any more. */
  async gone(): Promise<void> {
    await expect.poll(() => this.pids().filter(isAlive), { timeout: 15_000 }).toEqual([])
  }
}

/** Whether a process runs: one that has ended, and that nobody has asked about yet, does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return process.platform !== 'linux' || !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

export const allowed = { action: 't.allow', resource: null }

/** What the tests of a file share: a decision point, a relay before it, and an agent that may call these tools of the raw server. */
export function useProxies(toolNames: readonly string[], config: object = {}) {
  const point = useDecisionPoint()
  const tools = Object.fromEntries(toolNames.map((name) => [name, allowed]))
  let all: { readonly rig: Rig; readonly apiKey: string; readonly relay: Relay }
  beforeAll(async () => {
    const rig = await Rig.open(point())
    all = { rig, apiKey: await rig.operator.makeKey(), relay: await startRelay(point().url) }
  }, 60_000)
  afterAll(() => all.relay.close())
  return {
    tools,
    shared: () => all,
    start(setup: Partial<Setup> = {}): ProxiedServer {
      const { rig, apiKey, relay } = all
      return new ProxiedServer({
        url: relay.url,
        apiKey,
        config: { agent_id: rig.agentId, tools, ...config },
        ...setup,
      })
    },
    /** Of the last decision that was asked for. */
    async lastStatus(): Promise<string> {
      const { id } = all.relay.decisions.at(-1) ?? expect.fail('nothing was asked')
      return (await all.rig.operator.decision(id)).status
    },
  }
}
