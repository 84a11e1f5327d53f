import type { Lease } from '../ports/lease.js'

/** One process owns the embedded store, so it holds every lease. */
export const soleLease: Lease = { hold: () => Promise.resolve(true) }
