import type { Clock } from '../ports/clock.js'

/** The machine's time, held still while the machine sets its clock back: a period never opens twice. */
export function systemClock(): Clock {
  let last = 0
  return {
    now() {
      last = Math.max(last, Date.now())
      return new Date(last)
    },
  }
}
