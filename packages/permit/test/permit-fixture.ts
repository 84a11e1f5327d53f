import { type KeyObject, sign } from 'node:crypto'
import {
  any,
  createPermitVerifier,
  generateSigningKey,
  type PermitClaims,
  type PermitExpectations,
  type PermitVerifierOptions,
  requestHash,
} from '@countersign/permit'

/** The one instant of these tests: 2026-11-21T10:00:05.000Z. */
export const NOW_SECONDS = 1_795_255_205
export const now = () => NOW_SECONDS * 1000

export const ISSUER = 'https://decide.example'
export const AUDIENCE = 'https://pay.example'

export const key = generateSigningKey()
export const nextKey = generateSigningKey()
export const keySet = { keys: [nextKey.publicJwk, key.publicJwk] }

export const request = {
  agent_id: 'agent:support-7',
  action: 'payment.refund',
  resource: 'order:8812',
  context: { amount: 42.5, currency: 'EUR' },
}

export const claims: PermitClaims = {
  iss: ISSUER,
  sub: request.agent_id,
  aud: AUDIENCE,
  iat: NOW_SECONDS,
  exp: NOW_SECONDS + 300,
  jti: 'dec_01kagx5v5ne8sr6w1y6gqk4t2h',
  action: request.action,
  resource: request.resource,
  effect: 'allow',
  policy_id: 'pol_01kagx3v5ne8sr6w1y6gqk4t2h',
  policy_revision: 1,
  amount: 42.5,
  unit: 'EUR',
  request_hash: requestHash(request),
  audit: { log: 'a1', index: 12, leaf: requestHash({ agent_id: 'a', action: 'leaf.hash' }) },
}

export const expected: PermitExpectations = { action: request.action, resource: request.resource }
export const anything: PermitExpectations = { action: any, resource: any }

/** A verifier of the fixture's permits that remembers none, unless told otherwise. */
export function verifierWith(options: Partial<PermitVerifierOptions> = {}) {
  return createPermitVerifier({ issuer: ISSUER, audience: AUDIENCE, jwks: keySet, now, seen: false, ...options })
}

export const encode = (content: string | object) =>
  Buffer.from(typeof content === 'object' && !Buffer.isBuffer(content) ? JSON.stringify(content) : content).toString(
    'base64url',
  )

/** Signs whatever it is given, as someone would who holds the key and does not use our `mintPermit`. */
export function signToken(header: string | object, payload: string | object, privateKey: KeyObject = key.privateKey) {
  const input = `${encode(header)}.${encode(payload)}`
  return `${input}.${sign(null, Buffer.from(input), privateKey).toString('base64url')}`
}

export const header = { alg: 'EdDSA', typ: 'permit+jwt', kid: key.kid }
