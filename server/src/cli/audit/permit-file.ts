import type { PermitClaims } from '@countersign/contract'
import { CommandError, EXIT } from '../exit.js'
import { readText } from './input.js'

/** The permit in a file, or on standard input for `-`. */
export async function readPermit(file: string): Promise<string> {
  return (await readText(file)).trim()
}

/**
 * What a permit says. Nothing of it is verified.
 *
 * @throws CommandError when it is no permit
 */
export function permitClaimsOf(token: string): Pick<PermitClaims, 'iss' | 'aud' | 'iat' | 'jti'> {
  const [, payload = ''] = token.split('.')
  try {
    const { iss, aud, iat, jti } = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    if ([iss, aud, jti].every((text) => typeof text === 'string' && text !== '') && Number.isSafeInteger(iat))
      return { iss, aud, iat, jti }
  } catch {
    // The same as one without these claims.
  }
  throw new CommandError(EXIT.usage, 'The file has no permit: three parts of base64url with dots between them.')
}
