import type { PermitClaims } from '@countersign/contract'
import { usageError } from '../exit.js'
import { readText } from './input.js'

/** Reads the permit from a file, or from standard input for `-`. */
export async function readPermit(file: string): Promise<string> {
  return (await readText(file)).trim()
}

/**
 * Reads the claims of a permit without verifying it.
 *
 * @throws CommandError when it is not a permit
 */
export function permitClaimsOf(token: string): Pick<PermitClaims, 'iss' | 'aud' | 'iat' | 'jti'> {
  const [, payload = ''] = token.split('.')
  try {
    const { iss, aud, iat, jti } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    if ([iss, aud, jti].every((text) => typeof text === 'string' && text !== '') && Number.isSafeInteger(iat))
      return { iss, aud, iat, jti }
  } catch {
    // Handled like one without these claims.
  }
  throw usageError('The file does not contain a permit: three base64url parts separated by dots.')
}
