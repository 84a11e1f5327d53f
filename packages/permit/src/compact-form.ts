import { PermitError } from './permit-error.js'

const MAX_TOKEN_LENGTH = 8192

/** The three decoded parts of a compact JWS. Nothing is verified yet. */
export interface CompactParts {
  readonly header: Buffer
  readonly payload: Buffer
  readonly signature: Buffer
}

/**
 * Splits a token in the only canonical form: three non-empty parts of base64url without padding, blanks or stray
 * trailing bits, at most 8 KiB. Libraries accept sloppier forms, which would give one permit many spellings.
 *
 * @throws PermitError token_malformed, token_too_large
 */
export function splitCompactForm(token: unknown): CompactParts {
  if (typeof token !== 'string') throw new PermitError('token_malformed', 'A permit is a string.')
  if (token.length > MAX_TOKEN_LENGTH) throw new PermitError('token_too_large', 'A permit has at most 8 KiB.')
  const [header, payload, signature, ...more] = token.split('.').map(decodePart)
  if (!header || !payload || !signature || more.length > 0) {
    throw new PermitError('token_malformed', 'A permit has three base64url parts separated by dots.')
  }
  return { header, payload, signature }
}

function decodePart(part: string): Buffer | null {
  const bytes = Buffer.from(part, 'base64url')
  return part !== '' && bytes.toString('base64url') === part ? bytes : null
}
