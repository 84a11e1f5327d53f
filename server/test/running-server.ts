/** A real server in this process: real store files in a folder of its own, a clock that the test moves. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { Agent, createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { ReadableStream } from 'node:stream/web'
import { compose } from '#server/compose/compose'
import type { Parts } from '#server/compose/parts'
import { type Config, readConfig } from '#server/config'
import type { ClockJump } from '#server/ports/clock'
import { type Started, start } from '#server/start'
import { AnswerCheck } from './documented-answers.js'
import { databaseOf, ON_MONGODB } from './open-test-store.js'
import { dropDatabase, mongoUrl } from './stores/mongodb/open-mongo-store.js'

export const FROZEN = new Date('2026-11-21T10:00:00.000Z')

export class TestClock {
  #ms = FROZEN.getTime()

  now(): Date {
    return new Date(this.#ms)
  }
  advance(ms: number): void {
    this.#ms += ms
  }
  startFrom(_earliest: Date): void {}
  jump(): ClockJump | null {
    return null
  }
  confirm(): void {}
  set(date: Date): void {
    this.#ms = date.getTime()
  }
}

export interface RunningServer {
  readonly url: string
  /** The bootstrap key. */
  readonly key: string
  readonly clock: TestClock
  readonly started: Started
  readonly dataDir: string
  /** Everything that was logged. */
  readonly logged: { readonly level: string; readonly fields: object; readonly message: string }[]
  /**
   * Sends a request; a body that is no text, bytes or stream is sent as JSON. Every answer is held against the OpenAPI
   * document: one that differs from it fails the test.
   */
  call(method: string, path: string, options?: CallOptions): Promise<Answer>
  /** Stops, and starts another server on the same data. That one is to be stopped in the end. */
  restart(changes?: RestartOptions): Promise<RunningServer>
  stop(): Promise<void>
}

export interface CallOptions {
  readonly body?: unknown
  /** Another key than the bootstrap key; null for none. */
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

// biome-ignore lint/suspicious/noExplicitAny: answers are whatever JSON came; tests assert what they read of it
type AnyJson = any

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: AnyJson
}

export interface RunningServerOptions {
  readonly settings?: Partial<Config>
  readonly parts?: Partial<Omit<Parts, 'clock' | 'log' | 'address'>>
  /** Reopen an earlier server's data; it is not removed in the end. */
  readonly dataDir?: string
  readonly clock?: TestClock
}

interface RestartOptions extends Pick<RunningServerOptions, 'settings' | 'parts' | 'clock'> {
  /** Done to the data while no server runs on it. */
  readonly meanwhile?: (dataDir: string) => Promise<void>
}

const NEVER_MS = 2 ** 31 - 1
const BOOTSTRAP_KEY = 'a-key-for-tests-of-more-than-32-characters'

export async function runServer(options: RunningServerOptions = {}): Promise<RunningServer> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'countersign-')))
  const clock = options.clock ?? new TestClock()
  const logged: { level: string; fields: object; message: string }[] = []
  const at = (level: string) => (fields: object, message: string) => void logged.push({ level, fields, message })
  const config = {
    ...readConfig({
      PORT: '0',
      DATA_DIR: dataDir,
      COUNTERSIGN_BOOTSTRAP_KEY: BOOTSTRAP_KEY,
      MONGODB_URL: ON_MONGODB ? mongoUrl(databaseOf(dataDir)) : '',
    }),
    ...options.settings,
  }
  const log = { info: at('info'), warn: at('warn'), error: at('error') }
  // What the clock has ended is written when a test reads budgets, and not in the middle of any other test.
  const open = process.env.IN_EXPRESS === 'true' ? startInExpress : start
  const started = await open(config, { clock, log, expireEveryMs: NEVER_MS, ...options.parts })
  const documented = await checkOfAnswers(started.url)
  const isShared = ON_MONGODB && options.parts?.openStore === undefined
  return {
    url: started.url,
    key: BOOTSTRAP_KEY,
    clock,
    started,
    dataDir,
    logged,
    async call(method, path, { body, key = BOOTSTRAP_KEY, headers = {} } = {}) {
      const ask = () =>
        send(`${started.url}${path}`, method, body, {
          ...(key !== null && { Authorization: `Bearer ${key}` }),
          ...headers,
        })
      const { text, ...answer } = isShared ? await askWhileStale(ask) : await ask()
      const faults = documented.faults({ method, path, text, ...answer })
      if (faults.length > 0)
        throw new Error(`${method} ${path} answers ${answer.status}: ${faults.join('; ')}\n${text}`)
      return answer
    },
    async restart({ meanwhile, ...changes } = {}) {
      await started.stop(0)
      await meanwhile?.(dataDir)
      const next = await runServer({ ...options, clock, ...changes, dataDir })
      return { ...next, stop: () => next.stop().then(() => removeData(dataDir)) }
    },
    async stop() {
      await started.stop(0)
      if (options.dataDir === undefined) await removeData(dataDir)
    },
  }
}

/** As `start`, but each request passes through the application of Express first. */
async function startInExpress(config: Config, parts: Omit<Parts, 'address'>): Promise<Started> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const composed = await compose(config, { ...parts, address: url })
  server.on('request', composed.app)
  return {
    url,
    composed,
    async stop() {
      void composed.drain()
      server.close()
      server.closeAllConnections()
      await composed.close()
    },
  }
}

const STALE_MS = 20_000

/** On a machine that is too busy a server that shares its store may not know what is new: it says so, and is asked again. */
async function askWhileStale(ask: () => ReturnType<typeof send>): ReturnType<typeof send> {
  const until = performance.now() + STALE_MS
  for (let pauseMs = 100; ; pauseMs *= 1.5) {
    const answer = await ask()
    if (answer.body?.code !== 'replica_stale' || performance.now() > until) return answer
    // Many who ask again at once must not be what keeps it busy.
    await new Promise((resolve) => setTimeout(resolve, pauseMs * (1 + Math.random())))
  }
}

async function removeData(dataDir: string): Promise<void> {
  await rm(dataDir, { recursive: true, force: true })
  if (ON_MONGODB) await dropDatabase(databaseOf(dataDir))
}

let answerCheck: Promise<AnswerCheck> | null = null

/** Every server has the same document: that of the first one is read. */
function checkOfAnswers(url: string): Promise<AnswerCheck> {
  answerCheck ??= readDocument(url).catch((error) => {
    // The tests of other files have a server of their own.
    answerCheck = null
    throw error
  })
  return answerCheck
}

async function readDocument(url: string): Promise<AnswerCheck> {
  const answer = await fetch(`${url}/openapi.json`)
  const document = await answer.text()
  if (answer.status !== 200)
    throw new Error(`/openapi.json is answered with ${answer.status}: ${document.slice(0, 500)}`)
  return new AnswerCheck(JSON.parse(document))
}

/** Connections are kept, as `fetch` keeps them; without it, because the quick tier sends tens of thousands of requests. */
const agent = new Agent({ keepAlive: true })

/** The whole body; none of one that has no end. */
async function textOf(res: IncomingMessage): Promise<string> {
  if (res.headers['content-type'] !== 'text/event-stream') return text(res)
  res.destroy()
  return ''
}

/** What is sent of a body: all of it at once, or as it comes. */
function dataOf(body: unknown): Buffer | Readable | undefined {
  if (body === undefined) return undefined
  if (body instanceof ReadableStream) return Readable.fromWeb(body)
  return Buffer.from(body instanceof Uint8Array || typeof body === 'string' ? body : JSON.stringify(body))
}

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(headersDistinct))
    for (const value of values) headers.append(name, value)
  return headers
}

async function send(url: string, method: string, body: unknown, headers: Record<string, string>) {
  const data = dataOf(body)
  const own = {
    ...(data !== undefined && { 'Content-Type': 'application/json' }),
    ...(Buffer.isBuffer(data) && { 'Content-Length': data.length }),
  }
  const req = request(url, { agent, method, headers: { ...own, ...headers } })
  const answered = once(req, 'response') as Promise<[IncomingMessage]>
  if (data instanceof Readable) data.pipe(req)
  else req.end(data)
  const [res] = await answered
  // An early answer may end the rest of its request.
  req.on('error', () => undefined)
  const found = await textOf(res)
  const isText = res.headers['content-type'] === 'application/x-ndjson'
  return {
    status: res.statusCode ?? 0,
    headers: headersOf(res),
    text: found,
    body: found === '' ? undefined : isText ? found : JSON.parse(found),
  }
}
