import { randomBytes } from 'node:crypto'
import type { Decision, ErrorCode } from '@countersign/contract'
import type { StubAnswer } from './stub-decision-point.js'

type Headers = Readonly<Record<string, string>>

/** A JSON body with a status. */
export function answerJson(status: number, body: unknown, headers: Headers = {}): StubAnswer {
  return answerText(status, JSON.stringify(body), { 'content-type': 'application/json', ...headers })
}

export function answerText(status: number, text: string, headers: Headers = {}): StubAnswer {
  return (_request, response) => {
    response.writeHead(status, headers)
    response.end(text)
  }
}

/** A problem document, as the contract has it. */
export function answerProblem(status: number, code: ErrorCode | (string & {}), headers: Headers = {}): StubAnswer {
  const problem = {
    type: `/docs/errors#${code}`,
    title: `Title of ${code}.`,
    status,
    detail: `Detail of ${code}.`,
    code,
  }
  return answerJson(status, { ...problem, request_id: 'req_stub-0001' }, headers)
}

/** 204, without a body. */
export const answerNothing: StubAnswer = (_request, response) => {
  response.writeHead(204)
  response.end()
}

/** One decision that was asked for, allowed, with some members in another way: the same however often it is asked for. */
export function answerDecision(change: Readonly<Record<string, unknown>> = {}): StubAnswer {
  const id = newDecisionId()
  return (request, response) => {
    const asked = JSON.parse(request.body || '{}') as Pick<Decision, 'agent_id' | 'action'> & {
      readonly resource?: string
    }
    answerJson(200, { ...decisionAbout(asked), id, ...change })(request, response)
  }
}

/** Takes the request and never says anything. */
export const answerNever: StubAnswer = () => undefined

/** Resets the connection in place of an answer. */
export const answerReset: StubAnswer = (_request, response) => {
  response.socket?.resetAndDestroy()
}

/** Promises a body and closes the connection in the middle of it. */
export const answerCutOff: StubAnswer = (_request, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
  response.write('{"id": "dec_', () => response.socket?.destroy())
}

/** A body of this many bytes without a length ahead of it; stops when the reader has gone. */
export function answerHuge(bytes: number): StubAnswer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const chunk = Buffer.alloc(64 * 1024, 0x20)
    let sent = 0
    const send = (): void => {
      while (sent < bytes && !response.destroyed) {
        sent += chunk.byteLength
        if (!response.write(chunk)) return void response.once('drain', send)
      }
      response.end()
    }
    send()
  }
}

/** Of no other decision: who enforces remembers what has run, and a stub may get the port of one before. */
export function newDecisionId(): string {
  return `dec_${randomBytes(13).toString('hex')}`
}

/** An authorized decision that holds for ten minutes. */
export function decisionAbout(asked: {
  readonly agent_id: string
  readonly action: string
  readonly resource?: string | null
}): Decision {
  const now = Date.now()
  return {
    id: newDecisionId(),
    effect: 'allow',
    status: 'authorized',
    reason: null,
    reason_code: 'rule_matched',
    policy_id: 'pol_01kagx3v5ne8sr6w1y6gqk4t2h',
    policy_revision: 1,
    policy_set: 1,
    rule: 0,
    agent_id: asked.agent_id,
    action: asked.action,
    resource: asked.resource ?? null,
    latency_ms: 0.021,
    evaluated_at: new Date(now).toISOString(),
    expires_at: new Date(now + 600_000).toISOString(),
    trace_id: null,
    budgets: [],
    review: null,
    outcome: null,
    advice: null,
    permit_token: 'eyJhbGciOiJFZERTQSJ9.eyJqdGkiOiJkZWMifQ.c2lnbmF0dXJl',
  }
}
