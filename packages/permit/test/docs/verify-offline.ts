import { createPermitVerifier, PermitError, requestHash } from '@countersign/permit'

const issuer = process.env.COUNTERSIGN_URL ?? 'http://127.0.0.1:8787'
const verifier = createPermitVerifier({
  issuer,
  audience: issuer,
  jwks: `${issuer}/.well-known/jwks.json`,
})

export async function refund(agentId: string, orderId: string, amount: number, permitToken: string): Promise<string> {
  const about = { agent_id: agentId, action: 'payment.refund', resource: `order:${orderId}` }
  try {
    // The hash binds the permit to the exact facts of the request, including the amount.
    const request_hash = requestHash({ ...about, context: { amount } })
    const permit = await verifier.verify(permitToken, { ...about, request_hash })
    return `refunded ${amount} for ${permit.sub}, decision ${permit.jti}`
  } catch (error) {
    if (error instanceof PermitError) return `refused: ${error.code}`
    throw error
  }
}
