import type { Jwks } from '@countersign/contract'
import { ApiError } from './client'

/** The public keys that verify permits, as of now: a key that was revoked a moment ago is not among them. @throws ApiError */
export async function readJwks(): Promise<Jwks> {
  const answer = await fetch('/.well-known/jwks.json', { cache: 'no-store' }).catch(() => null)
  if (answer === null) throw new ApiError('The server does not answer. Is it running?', 0, null)
  if (!answer.ok) throw new ApiError(`The server answers with status ${answer.status}.`, answer.status, null)
  return (await answer.json()) as Jwks
}
