/** The clocks of this machine and of the decision point differ. */
export class ClockFault extends Error {
  /** A decision that may run came when it was over by the clock here, since so many milliseconds. */
  static ahead(overMs: number): ClockFault {
    return new ClockFault(`a decision was over ${seconds(overMs)} before it came, so this clock is ahead`)
  }

  /** A decision came so many milliseconds before it was made. */
  static behind(earlyMs: number): ClockFault {
    return new ClockFault(`a decision came ${seconds(earlyMs)} before it was made, so this clock is behind`)
  }

  private constructor(what: string) {
    super(`By the clock of this machine ${what}. Compare it with that of the decision point, and set both by NTP.`)
  }
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 1000)} s`
}
