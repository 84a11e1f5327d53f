/** A stub decision point whose decisions change, a client of it, and apps that listen; all of them gone after each test. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { Countersign, type CountersignOptions, type EnforcementEvent } from '@countersign/client'
import { type GuardedHandler, guard, type RouteGuard, type RouteGuardOptions } from '@countersign/express'
import {
  type StubAnswer,
  type StubDecisionPoint,
  type StubLifecycle,
  startStubDecisionPoint,
  startStubLifecycle,
} from '@countersign/testkit'
import express, { type Express, type Request } from 'express'
import { afterEach, beforeEach } from 'vitest'

export const AGENT = 'agent:support-7'

/** What a guard of these tests asks unless a test says otherwise. */
const REFUND = { agent_id: AGENT, action: 'payment.refund', resource: 'order:8812' } as const

/** Of machines with a lot else to do. */
export const PATIENT_MS = 15_000
const PATIENT = { timeoutMs: PATIENT_MS, connectTimeoutMs: PATIENT_MS }

type Effect = 'allow' | 'deny' | 'review' | 'log'
type RefundOptions = Partial<Omit<RouteGuardOptions, 'client' | 'point'>>

export interface Rig {
  readonly stub: StubDecisionPoint
  readonly lifecycle: StubLifecycle
  readonly client: Countersign
  /** Everything that the guards told, oldest first. */
  readonly events: readonly EnforcementEvent[]
  /** Takes what a point tells that is made beside `guard`. */
  onEvent(event: EnforcementEvent): void
  /** What is asked is decided so from now on. */
  decide(effect: Effect | ((asked: { action: string; resource?: string | null | undefined }) => Effect)): void
  /** Answers requests whose path ends so in other ways, one after another; all else as before. */
  answer(ending: string, ...answers: readonly StubAnswer[]): void
  open(options?: CountersignOptions): Countersign
  guard(options?: RefundOptions, handler?: GuardedHandler<Request>): RouteGuard
  /** Resolves once this many settlements have come to an end, and says what was told: `confirm`, `reject` or `leave`. */
  settled(count?: number): Promise<readonly string[]>
  /** Sent over the wire: the transition and its body. */
  transitions(): readonly (readonly [transition: string, body: unknown])[]
  /** Bodies of the questions. */
  questions(): readonly Record<string, unknown>[]
  listen(app: Express): Promise<{ readonly server: Server; readonly url: string; connect(): Promise<Socket> }>
}

export function useRig(): () => Rig {
  let rig: Rig
  let closing: (() => unknown)[] = []
  beforeEach(async () => {
    const opened = await openRig((close) => closing.push(close))
    rig = opened
  })
  afterEach(async () => {
    for (const close of closing.reverse()) await close()
    closing = []
  })
  return () => rig
}

async function openRig(onClose: (close: () => unknown) => void): Promise<Rig> {
  let effect: Effect | ((asked: { action: string; resource?: string | null | undefined }) => Effect) = 'allow'
  const lifecycle = startStubLifecycle((asked) => (typeof effect === 'function' ? effect(asked) : effect))
  const others: { ending: string; answers: StubAnswer[] }[] = []
  const stub = await startStubDecisionPoint((request, response) => {
    const { pathname } = new URL(request.url, 'http://stub')
    const other = others.find(({ ending, answers }) => pathname.endsWith(ending) && answers.length > 0)
    const answer = other?.answers.shift() ?? lifecycle.answer
    answer(request, response)
  })
  onClose(() => stub.close())
  const events: EnforcementEvent[] = []
  const waiting = new Set<() => void>()
  const onEvent = (event: EnforcementEvent): void => {
    events.push(event)
    for (const look of waiting) look()
  }
  const open = (options: CountersignOptions = {}): Countersign => {
    const client = new Countersign({
      baseUrl: stub.url,
      apiKey: 'key-of-a-test',
      maxRetries: 0,
      ...PATIENT,
      ...options,
    })
    onClose(() => client.close())
    return client
  }
  const client = open()
  const told = () => events.flatMap((event) => (event.type === 'settled' ? [event.settlement.settle] : []))

  return {
    stub,
    lifecycle,
    client,
    events,
    onEvent,
    decide(next) {
      effect = next
    },
    answer: (ending, ...answers) => void others.unshift({ ending, answers: [...answers] }),
    open,
    guard: (options = {}, ...handler) =>
      guard({ client, onEvent, ...REFUND, ...options } as RouteGuardOptions, ...handler),
    settled: (count = 1) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (told().length < count) return
          waiting.delete(look)
          resolve(told())
        }
        waiting.add(look)
        look()
      }),
    transitions: () =>
      stub.requests.flatMap(({ url, body }) => {
        const [, transition] = /\/v1\/decisions\/[^/]+\/(\w+)$/.exec(url) ?? []
        return transition === undefined ? [] : [[transition, JSON.parse(body)] as const]
      }),
    questions: () => stub.requests.filter(({ url }) => url === '/v1/decisions').map(({ body }) => JSON.parse(body)),
    async listen(app) {
      // Longer than a busy machine takes between two requests of a connection.
      const server = createServer({ keepAliveTimeout: 60_000 }, app).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as AddressInfo
      onClose(async () => {
        server.close()
        server.closeAllConnections()
      })
      const connectOn = async (): Promise<Socket> => {
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => undefined)
        onClose(() => socket.destroy())
        await once(socket, 'connect')
        return socket
      }
      return { server, url: `http://127.0.0.1:${port}`, connect: connectOn }
    },
  }
}

/** An app that reads JSON and tells nobody about errors on the console. */
export function newApp(): Express {
  return express().set('env', 'test').use(express.json())
}

/** A promise that a test settles. */
export function gate<Value = void>(): { readonly opened: Promise<Value>; open(value: Value): void } {
  let open: (value: Value) => void = () => undefined
  const opened = new Promise<Value>((resolve) => {
    open = resolve
  })
  return { opened, open: (value) => open(value) }
}
