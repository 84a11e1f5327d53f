import { createRemoteJWKSet, jwtVerify } from 'jose'

const issuer = process.env.COUNTERSIGN_URL ?? 'http://127.0.0.1:8787'
const keySet = createRemoteJWKSet(new URL(`${issuer}/.well-known/jwks.json`), { cacheMaxAge: 60_000 })

export async function mayRefund(orderId: string, permitToken: string): Promise<boolean> {
  const { payload } = await jwtVerify(permitToken, keySet, {
    algorithms: ['EdDSA'],
    typ: 'permit+jwt',
    issuer,
    audience: issuer,
    requiredClaims: ['exp', 'iat', 'jti'],
    clockTolerance: 0,
  })
  const { action, resource, effect } = payload
  const isForThis = action === 'payment.refund' && resource === `order:${orderId}`
  return isForThis && (effect === 'allow' || effect === 'review')
}
