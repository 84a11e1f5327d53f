/** Transports for trying out a guard: one that notes answers, and those of failed or wrong decision points. */
import { DECISION_ENDPOINTS } from '../../endpoints.js'
import type { OpenTransport, Transport, TransportAnswer, TransportRequest } from '../../transport.js'
import type { Decision } from '../../wire.js'
import type { FaultName } from './guard-check.js'

/** The traffic of one transport. */
export class Hearing {
  /** How often a decision was asked for. */
  askCount = 0
  /** The answers, oldest first. */
  readonly decisions: Pick<Decision, 'id' | 'effect' | 'status'>[] = []

  /** The same transport, and notes its traffic. */
  over(own: OpenTransport): OpenTransport {
    return (options) => {
      const transport = own(options)
      return {
        send: async (request) => {
          const isAsking = isQuestion(request)
          if (isAsking) this.askCount += 1
          const answer = await transport.send(request)
          if (isAsking && answer.status === 200) this.decisions.push(decisionIn(answer))
          return answer
        },
        stream: (request) => transport.stream(request),
        close: () => transport.close(),
      }
    }
  }
}

/** How a decision point can fail. */
export const FAULTS = {
  unreachable: async () => {
    throw new Error('connect ECONNREFUSED')
  },
  hanging: ({ signal }) => {
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  },
  error: async () => answerOf(500, { code: 'internal_error', title: 'Internal error', detail: '', status: 500 }),
  garbage: async () => answerOf(200, ['<html>', 'allow', '</html>']),
  unknown_effect: async (request) => answerOf(200, { ...permission(request), effect: 'permit' }),
  other_agent: async (request) => answerOf(200, { ...permission(request), agent_id: 'agent:somebody-else' }),
} as const satisfies Readonly<Record<FaultName, Transport['send']>>

/** A transport without a decision point. */
export function faultyTransport(fault: FaultName): OpenTransport {
  const stream = () => Promise.reject(new Error('a guard reads no stream'))
  return () => ({ send: FAULTS[fault], stream, close: () => undefined })
}

function isQuestion({ method, url }: TransportRequest): boolean {
  return method === 'POST' && url.endsWith(DECISION_ENDPOINTS['decisions.decide'].path)
}

function decisionIn({ body }: TransportAnswer): Decision {
  try {
    return JSON.parse(new TextDecoder().decode(body)) as Decision
  } catch {
    return {} as Decision
  }
}

function answerOf(status: number, body: unknown): TransportAnswer {
  return { status, header: () => null, body: new TextEncoder().encode(JSON.stringify(body)) }
}

/** Looks like a permission of the question. */
function permission({ body }: TransportRequest): object {
  const asked = JSON.parse(body ?? '{}') as Partial<Decision>
  return {
    id: 'dec_00000000000000000000000000',
    agent_id: asked.agent_id,
    action: asked.action,
    resource: asked.resource ?? null,
    effect: 'allow',
    status: 'authorized',
    expires_at: new Date(Date.now() + 300_000).toISOString(),
    permit_token: 'e30.e30.e30',
  }
}
