import type { Lease } from '@countersign/store-port/lease'

/** One process owns the embedded store, so it holds every lease. */
export const soleLease: Lease = { hold: () => Promise.resolve(true) }
