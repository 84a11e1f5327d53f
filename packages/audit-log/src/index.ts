export type { AuditEntry } from './entry.js'
export { canonicalEntry, leafHash } from './leaf.js'
