/** Stands before a real decision point: passes everything on, sees all of it, and errs where a case says so. */
import type { ServerResponse } from 'node:http'
import type { Decision, JsonObject } from '@countersign/contract'
import { type ReceivedRequest, type StubAnswer, startStubDecisionPoint } from '../stub-decision-point.js'

/** What an enforcement point calls; `look` reads a decision, at once or when it was reviewed. */
type RelayedCall = 'ask' | 'look' | 'claim' | 'redeem' | 'confirm' | 'reject'

export interface Relay {
  readonly url: string
  /** Everything that came, oldest first. */
  readonly calls: readonly RelayedCall[]
  /** The decisions that were asked for, as the decision point answered. */
  readonly decisions: readonly Decision[]
  /** Every permit that the decision point gave away. */
  readonly permits: ReadonlySet<string>
  /** From now on, such requests are answered so, and do not reach the decision point. */
  answer(call: RelayedCall, answer: StubAnswer): void
  /** From now on, answers to such requests come at once, with these members in another way; undefined removes one. */
  change(call: RelayedCall, change: Readonly<Record<string, unknown>>): void
  /** From now on, answers to such requests are kept back, although the decision point has given them. */
  hold(call: RelayedCall): HeldAnswers
  /** From now on, such requests are passed on, and their answers are lost: the connection breaks off. */
  lose(call: RelayedCall): void
  /** Everything is passed on again. */
  heal(): void
  /** Nobody can reach the decision point here any more. */
  close(): Promise<void>
}

interface HeldAnswers {
  /** Resolves once there is one. */
  readonly arrived: Promise<void>
  /** Lets them go, and all that follow. */
  release(): void
}

interface PassedOn {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

const HEADERS = ['authorization', 'content-type', 'idempotency-key'] as const

export async function startRelay(upstream: string): Promise<Relay> {
  const calls: RelayedCall[] = []
  const decisions: Decision[] = []
  const permits = new Set<string>()
  const others = new Map<RelayedCall, StubAnswer>()

  const passOn = async (request: ReceivedRequest, response: ServerResponse, url = request.url): Promise<PassedOn> => {
    const left = new AbortController()
    // Who waits for a review and leaves waits no longer; whatever else was asked for is done.
    if (request.method === 'GET') response.once('close', () => left.abort())
    const headers = new Headers()
    for (const name of HEADERS) {
      const value = request.headers[name]
      if (typeof value === 'string') headers.set(name, value)
    }
    const body = request.method === 'GET' ? {} : { body: request.body }
    const answer = await fetch(`${upstream}${url}`, { method: request.method, headers, signal: left.signal, ...body })
    const text = await answer.text()
    note(callOf(request), text)
    return { status: answer.status, headers: { 'content-type': answer.headers.get('content-type') ?? '' }, text }
  }
  const note = (call: RelayedCall | null, text: string): void => {
    const decision = decisionIn(text)
    if (decision === null) return
    if (call === 'ask') decisions.push(decision)
    if (decision.permit_token !== undefined) permits.add(decision.permit_token)
  }
  /** `answered` may take its time. */
  const passing =
    (answered: (passed: PassedOn) => PassedOn | Promise<PassedOn>, isAtOnce = false): StubAnswer =>
    (request, response) => {
      const url = isAtOnce ? request.url.split('?')[0] : undefined
      const reply = ({ status, headers, text }: PassedOn): void => void response.writeHead(status, headers).end(text)
      passOn(request, response, url)
        .then(answered)
        .then(reply)
        .catch(() => response.destroy())
    }

  const stub = await startStubDecisionPoint((request, response) => {
    const call = callOf(request)
    if (call !== null) calls.push(call)
    const answer = (call === null ? undefined : others.get(call)) ?? passing((passed) => passed)
    answer(request, response)
  })

  return {
    url: stub.url,
    calls,
    decisions,
    permits,
    answer: (call, answer) => void others.set(call, answer),
    change(call, change) {
      const changed = (passed: PassedOn): PassedOn => {
        return { ...passed, text: JSON.stringify({ ...(JSON.parse(passed.text) as JsonObject), ...change }) }
      }
      others.set(call, passing(changed, true))
    },
    hold(call) {
      let arrive = (): void => undefined
      let release = (): void => undefined
      const arrived = new Promise<void>((resolve) => {
        arrive = resolve
      })
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      const kept = async (passed: PassedOn): Promise<PassedOn> => {
        arrive()
        await released
        return passed
      }
      others.set(call, passing(kept))
      return { arrived, release }
    },
    lose: (call) =>
      void others.set(
        call,
        passing(() => Promise.reject(new Error('the answer is lost'))),
      ),
    heal: () => others.clear(),
    close: () => stub.close(),
  }
}

function callOf({ method, url }: ReceivedRequest): RelayedCall | null {
  if (url === '/v1/permits/redeem') return 'redeem'
  const [, id, name] = /^\/v1\/decisions(?:\/([^/?]+))?(?:\/(\w+))?(?:\?.*)?$/.exec(url) ?? []
  if (method === 'POST') return id === undefined ? 'ask' : (name as RelayedCall)
  return id === undefined ? null : 'look'
}

function decisionIn(text: string): Decision | null {
  try {
    const decision = JSON.parse(text) as Partial<Decision>
    return typeof decision.id === 'string' && decision.id.startsWith('dec_') ? (decision as Decision) : null
  } catch {
    return null
  }
}
