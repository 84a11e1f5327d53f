/** The only source of time. Within a process it never goes back. */
export interface Clock {
  now(): Date
}

/** The system clock jumped ahead. Time follows the monotonic clock until it is known which clock is right. */
export interface ClockJump {
  /** How far ahead, in milliseconds. */
  readonly aheadMs: number
  readonly systemTime: Date
  /** When the system clock is trusted without a confirmation. */
  readonly believedAt: Date
}

/** The clock of a process that writes to a store. */
export interface StoreClock extends Clock {
  /** From now on `now` returns no time before `earliest`. */
  startFrom(earliest: Date): void
  /** Returns the jump that is in doubt, or null. */
  jump(): ClockJump | null
  /** The operator confirms the system clock: time continues from it. Does nothing without a jump. */
  confirm(): void
}
