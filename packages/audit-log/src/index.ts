export { canonicalEntry, type HashableEntry, leafHash } from './leaf.js'
