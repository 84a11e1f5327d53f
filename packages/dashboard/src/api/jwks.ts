import type { Jwks } from '@countersign/contract'
import { ApiError } from './client'

/** Reads the public keys that verify permits. No cache is used, so that a key just revoked is not among them. @throws ApiError */
export async function readJwks(): Promise<Jwks> {
  const answer = await fetch('/.well-known/jwks.json', { cache: 'no-store' }).catch(() => null)
  if (answer === null) throw new ApiError('The server is not responding. Is it running?', 0, null)
  if (!answer.ok) throw new ApiError(`The server responded with status ${answer.status}.`, answer.status, null)
  return (await answer.json()) as Jwks
}
