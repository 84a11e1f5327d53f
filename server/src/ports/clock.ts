/** The one source of time. Within a process it never goes back. */
export interface Clock {
  now(): Date
}

/** The system clock went ahead on its own: time goes on by the monotonic clock until it is known which one is right. */
export interface ClockJump {
  /** How far ahead, in milliseconds. */
  readonly aheadMs: number
  /** What the system clock says. */
  readonly systemTime: Date
  /** When it is believed without a word, by the time that goes on. */
  readonly believedAt: Date
}

/** The clock of a process that writes to a store. */
export interface StoreClock extends Clock {
  /** From now on no time before `earliest` is told. */
  startFrom(earliest: Date): void
  /** The jump that is in doubt, else null. */
  jump(): ClockJump | null
  /** The operator says that the system clock is right: time goes on from there. Nothing changes without a jump. */
  confirm(): void
}
