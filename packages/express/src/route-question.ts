/** A request as a question, with a name for the call. */
import { createHash } from 'node:crypto'
import { DeniedError, type GuardRequest } from '@countersign/client'
import type { Request } from 'express'
import { agentOfAuth } from './agent-of-auth.js'
import { AgentMissing } from './denial-of.js'
import type { AdmitKey, FromRequest, RouteOptions } from './guard-options.js'

/** What is asked, and the key that the asking is repeated by. */
export interface RouteQuestion {
  readonly request: GuardRequest
  readonly idempotencyKey: AdmitKey | undefined
}

/**
 * @throws AgentMissing, DeniedError (`unmapped`), and whatever the options' functions throw
 */
export function askedBy(req: Request, options: RouteOptions, place: number): RouteQuestion {
  const agent_id = options.agentId === undefined ? agentOfAuth(req) : resolved(options.agentId, req)
  if (agent_id === undefined || agent_id === null || agent_id === '')
    throw new AgentMissing('nobody says which agent calls')
  const action = resolved(options.action, req)
  if (action === undefined || action === null) throw new DeniedError('unmapped')
  const resource = resolved(options.resource, req)
  const context = resolved(options.context, req)
  const request = { agent_id, action, resource, context }
  return { request, idempotencyKey: callKey(req, agent_id, options, place) }
}

export function resolved<Value>(given: FromRequest<Value, Request>, req: Request): Value {
  return typeof given === 'function' ? (given as (req: Request) => Value)(req) : given
}

/**
 * A caller's key means what it means to this caller: the same one of another agent, on another route, or at another guard of
 * the route is another key. What it looks like does not matter, as its hash is sent.
 */
function callKey(
  req: Request,
  agent_id: string,
  { idempotencyKey }: RouteOptions,
  place: number,
): AdmitKey | undefined {
  if (idempotencyKey === false) return undefined
  const given = idempotencyKey === undefined ? req.headers['idempotency-key'] : idempotencyKey(req)
  if (given === undefined || given === null || given === '') return undefined
  if (typeof given !== 'string') throw new TypeError('idempotencyKey has to give a string')
  const route: unknown = req.route?.path ?? null
  const scope = [agent_id, req.method, req.baseUrl, String(route), place, given]
  return `express-${createHash('sha256').update(JSON.stringify(scope)).digest('base64url')}`
}
