/** Permits as a decision point signs them, and as others would like to. */

import { permitErrors, type RequirePermitOptions, requirePermit } from '@countersign/express'
import {
  generateSigningKey,
  mintPermitSync,
  type PermitClaims,
  requestHash,
  type SigningKey,
} from '@countersign/permit'
import request from 'supertest'
import { newApp } from './rig.js'

export const ISSUER = 'https://decide.example'
export const AUDIENCE = 'https://pay.example'
export const key = generateSigningKey()
const keys = [key.publicJwk]

export const asked = {
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: 'order:8812',
  context: { amount: 42.5 },
}

let count = 0

/** A permit for what is asked above, with a decision of its own, in force now. */
export function permit(changes: Partial<PermitClaims> = {}, signer: SigningKey = key): string {
  count += 1
  const iat = Math.floor(Date.now() / 1000)
  return mintPermitSync(signer, {
    iss: ISSUER,
    sub: asked.agent_id,
    aud: AUDIENCE,
    iat,
    exp: iat + 300,
    jti: `dec_${String(process.pid).padStart(10, '0')}${String(count).padStart(16, '0')}`,
    action: asked.action,
    resource: asked.resource,
    effect: 'allow',
    policy_id: 'pol_01kagx3v5ne8sr6w1y6gqk4t2h',
    policy_revision: 1,
    request_hash: requestHash(asked),
    audit: { log: 'a1', index: 12, leaf: requestHash({ agent_id: 'a', action: 'leaf.hash' }) },
    ...changes,
  })
}

/** A service that refunds for who shows a permit, and how often it did. */
export function service(options: Partial<RequirePermitOptions> = {}) {
  let runs = 0
  const app = newApp()
    .all(
      '/refunds/:id',
      requirePermit({
        issuer: ISSUER,
        audience: AUDIENCE,
        action: 'payment.refund',
        resource: (req) => `order:${req.params.id}`,
        jwks: { keys },
        ...options,
      }),
      (req, res) => {
        runs += 1
        res.json({ claims: req.verifiedPermit?.claims, same: req.verifiedPermit === res.locals.verifiedPermit })
      },
    )
    .use(permitErrors())
  const send = (token?: string, path = '/refunds/8812') => {
    const sent = request(app).post(path).send({ amount: 42.5 })
    return token === undefined ? sent : sent.set('authorization', `Bearer ${token}`)
  }
  return { app, send, runs: () => runs }
}
