import type { Moment } from '../../../concurrency/moment.js'

/** One amount of a reservation. */
export interface Hold {
  /** The id of the account's document. */
  readonly id: string
  readonly text: string
  readonly amount: bigint
}

export interface Reservation {
  readonly attempt: string
  readonly decision: string
  /** The decision's `rev` that it is based on; null when there was no decision. */
  readonly rev: number | null
  readonly holds: readonly Hold[]
  /** Before any part of it was visible to other processes. */
  readonly begun: Moment
  /** Whether a record that names it may still become durable. */
  isSent: boolean
}
