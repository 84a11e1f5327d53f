import { createPermitVerifier, PermitError } from '@countersign/permit'

const issuer = process.env.COUNTERSIGN_URL ?? 'http://127.0.0.1:8787'
const verifier = createPermitVerifier({
  issuer,
  audience: issuer,
  jwks: `${issuer}/.well-known/jwks.json`,
})

export async function refund(orderId: string, amount: number, permitToken: string): Promise<string> {
  try {
    const permit = await verifier.verify(permitToken, {
      action: 'payment.refund',
      resource: `order:${orderId}`,
      amount,
    })
    return `refunded ${amount} for ${permit.sub}, decision ${permit.jti}`
  } catch (error) {
    if (error instanceof PermitError) return `refused: ${error.code}`
    throw error
  }
}
