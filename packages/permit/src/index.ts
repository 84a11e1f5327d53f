export type { PermitAuditEntry, PermitClaims } from './claims.js'
export { mintPermit, mintPermitSync } from './mint.js'
export { type HashedRequest, requestHash } from './request-hash.js'
export {
  exportSigningKey,
  generateSigningKey,
  importSigningKey,
  type PrivateJwk,
  type PublicJwk,
  type PublicKeySet,
  type SigningKey,
} from './signing-key.js'
