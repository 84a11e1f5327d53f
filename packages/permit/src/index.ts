export type { PermitClaims } from '@countersign/contract'
export { any, type PermitExpectations } from './expectations.js'
export type { KeySetInput } from './key-source.js'
export { mintPermit, mintPermitSync } from './mint.js'
export { PERMIT_ERROR_CODES, PermitError, type PermitErrorCode } from './permit-error.js'
export { type HashedRequest, requestHash } from './request-hash.js'
export { createSeenPermits, type SeenPermits, type SeenPermitsOptions } from './seen-permits.js'
export {
  exportSigningKey,
  generateSigningKey,
  importSigningKey,
  type PrivateJwk,
  type PublicJwk,
  type PublicKeySet,
  type SigningKey,
} from './signing-key.js'
export { createPermitVerifier, type PermitVerifier, type PermitVerifierOptions } from './verifier.js'
