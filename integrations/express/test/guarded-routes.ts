/** Guarded routes as the enforcement suite calls them. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Countersign } from '@countersign/client'
import { guard, permitErrors, type RouteGuardOptions } from '@countersign/express'
import {
  type Act,
  type CallOutcome,
  type EnforcementAdapter,
  type GuardedCall,
  type GuardSetup,
  saysFailure,
} from '@countersign/testkit/enforcement-suite'
import type { ErrorRequestHandler, Express, Request, RequestHandler } from 'express'
import { newApp, PATIENT_MS } from './rig.js'

const GRACE_MS = 1_000
const CALL = 'x-call'
const DOES_NOT_APPLY = {
  'tells a model what the person wrote who approved, as a quotation that the words cannot leave':
    'the handler writes the answer; it has the review in req.permit.decision',
  'runs what pauses itself twice to its end once, by one decision, and settles it by its end alone':
    'a route answers each request, and goes on with none',
  'gives an agent a gated resource only if the policies allow its reading, once, and settles that':
    'whatever a client can read is a route',
}

/** The calls of an app in progress, by the header that names each. */
class Calls {
  readonly #all = new Map<string, GuardedCall>()
  readonly #errors = new Map<string, unknown>()

  add(call: GuardedCall): string {
    const name = crypto.randomUUID()
    this.#all.set(name, call)
    return name
  }

  of(req: Request): GuardedCall {
    return this.#all.get(req.get(CALL) ?? '') as GuardedCall
  }

  /** What reached the app's own error handler. */
  noteError(req: Request, error: unknown): void {
    this.#errors.set(req.get(CALL) ?? '', error)
  }

  errorOf(name: string): unknown {
    return this.#errors.get(name)
  }
}

/** How a route is put together; a test breaks it here. */
export interface RouteParts {
  readonly guarded: RequestHandler
  readonly act: Act
}

/** Routes with guards before their handlers, as an integration for the suite. */
export function guardedRoutes(
  name: string,
  change: (parts: RouteParts) => RouteParts = (parts) => parts,
): EnforcementAdapter {
  return routesBy(name, change, false)
}

/** Routes whose handlers are wrapped, as an integration for the suite. */
export function wrappedRoutes(name: string): EnforcementAdapter {
  return routesBy(name, (parts) => parts, true)
}

function routesBy(name: string, change: (parts: RouteParts) => RouteParts, isWrapped: boolean): EnforcementAdapter {
  return {
    name,
    doesNotApply: DOES_NOT_APPLY,
    async open(setup) {
      const client = new Countersign({
        baseUrl: setup.baseUrl,
        apiKey: setup.apiKey,
        timeoutMs: PATIENT_MS,
        connectTimeoutMs: PATIENT_MS,
      })
      const calls = new Calls()
      const server = createServer(appOf(setup, client, calls, change, isWrapped)).listen(0, '127.0.0.1')
      await once(server, 'listening')
      return {
        call: (call) => send(server, calls, call),
        flush: (timeoutMs) => client.flush({ timeoutMs }),
        async close() {
          server.close()
          server.closeAllConnections()
          client.close()
        },
      }
    },
  }
}

function appOf(
  { options, act: given }: GuardSetup,
  client: Countersign,
  calls: Calls,
  change: (parts: RouteParts) => RouteParts,
  isWrapped: boolean,
): Express {
  const asks: RouteGuardOptions = {
    client,
    ...options,
    agent_id: (req) => req.get('x-agent'),
    action(req) {
      const { action, mapping } = calls.of(req)
      if (mapping === 'throws') throw new Error('there is no such order')
      return mapping === 'unmapped' ? (undefined as unknown as string) : action
    },
    resource: (req) =>
      calls.of(req).mapping === 'misspelt' ? `order:${req.params.orderId}` : String(req.params.resource),
    context: (req) => req.body,
    graceMs: GRACE_MS,
  }
  const { guarded, act } = change({ guarded: guard(asks), act: given })
  const handler: RequestHandler = async (req, res) => {
    const { value, amount } = await act({ resource: String(req.params.resource), context: req.body })
    if (amount !== undefined) await req.permit?.confirm({ amount })
    res.status(saysFailure(value) ? 422 : 200).json(value)
  }
  const onError: ErrorRequestHandler = (error, req, res, _next) => {
    calls.noteError(req, error)
    res.status(500).send('it failed')
  }
  return newApp()
    .post(
      '/orders/:resource',
      (req, res, next) => {
        const { onArguments, onLeft } = calls.of(req)
        onArguments(req.body)
        res.once('close', onLeft)
        next()
      },
      ...(isWrapped ? [guard(asks, handler)] : [guarded, handler]),
    )
    .use(permitErrors(), onError)
}

async function send(server: Server, calls: Calls, call: GuardedCall): Promise<CallOutcome> {
  const { agent_id, resource, context, idempotencyKey, signal } = call
  const name = calls.add(call)
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-agent': agent_id, [CALL]: name }
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/orders/${encodeURIComponent(resource)}`
  try {
    const body = JSON.stringify(context)
    const answer = await fetch(url, { method: 'POST', headers, body, ...(signal && { signal }) })
    return outcomeOf(answer, await answer.text(), calls.errorOf(name))
  } catch (error) {
    return signal?.aborted ? { kind: 'aborted' } : { kind: 'failed', error, shown: String(error) }
  }
}

function outcomeOf(answer: Response, text: string, error: unknown): CallOutcome {
  const shown = `${answer.status} ${JSON.stringify([...answer.headers])} ${text}`
  if (answer.ok) return { kind: 'value', value: JSON.parse(text), shown }
  if (answer.headers.get('content-type')?.startsWith('application/problem+json')) {
    const { code, decision_id = null } = JSON.parse(text) as { code: string; decision_id?: string }
    return { kind: 'denied', reason: code, decision_id, shown }
  }
  return { kind: 'failed', error, shown }
}
