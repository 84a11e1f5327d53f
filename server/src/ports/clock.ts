/** The one source of time. Within a process it never goes back. */
export interface Clock {
  now(): Date
}

/** The clock of a process that writes to a store. */
export interface StoreClock extends Clock {
  /** From now on no time before `earliest` is told. */
  startFrom(earliest: Date): void
}
