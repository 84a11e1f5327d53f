/** Turns a request into a question, with a name for the call. */
import { createHash } from 'node:crypto'
import { DeniedError, type GuardRequest } from '@countersign/client'
import type { Request } from 'express'
import { agentOfAuth } from './agent-of-auth.js'
import { AgentMissing } from './denial-of.js'
import { resolved } from './from-request.js'
import type { GuardSettings } from './guard-options.js'

/** The question, and the key for repeating it. */
export interface RouteQuestion {
  readonly request: GuardRequest
  readonly idempotencyKey: string | undefined
}

/** @throws AgentMissing, DeniedError (`unmapped`), and the errors of the options' functions */
export function askedBy(req: Request, options: GuardSettings, place: number): RouteQuestion {
  const agent_id = options.agent_id === undefined ? agentOfAuth(req) : resolved('agent_id', options.agent_id, req)
  if (agent_id === undefined || agent_id === null || agent_id === '')
    throw new AgentMissing('no agent is given for the call')
  const action = resolved('action', options.action, req)
  if (action === undefined || action === null) throw new DeniedError('unmapped')
  const resource = resolved('resource', options.resource, req)
  if (resource === undefined && options.resource !== undefined) {
    const cause = new TypeError('the function resource returned undefined: return null for no resource')
    throw new DeniedError('question_refused', { cause })
  }
  const context = resolved('context', options.context, req)
  const request = { agent_id, action, resource, context }
  return { request, idempotencyKey: callKey(req, agent_id, options, place) }
}

/**
 * A caller's key belongs to that caller: the same key of another agent, in another service, on another route, or at
 * another guard of the route is a different key. Its form does not matter, because its hash is sent.
 */
function callKey(
  req: Request,
  agent_id: string,
  { idempotencyKey, scope }: GuardSettings,
  place: number,
): string | undefined {
  if (idempotencyKey === false) return undefined
  const given =
    idempotencyKey === undefined ? req.headers['idempotency-key'] : resolved('idempotencyKey', idempotencyKey, req)
  if (given === undefined || given === null || given === '') return undefined
  if (typeof given !== 'string') throw new TypeError('idempotencyKey must return a string')
  const route: unknown = req.route?.path ?? null
  const named = [scope, agent_id, req.method, req.baseUrl, String(route), place, given]
  return `express-${createHash('sha256').update(JSON.stringify(named)).digest('base64url')}`
}
