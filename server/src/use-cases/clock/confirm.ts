import type { CommandResult } from '../../ports/admin-command.js'
import type { StoreClock } from '../../ports/clock.js'

/** The operator confirms that the system clock is right although it jumped. */
export function confirmClock(clock: StoreClock): CommandResult {
  if (clock.jump() === null) return { refused: 'The clock of this server is not in doubt.' }
  clock.confirm()
  return { done: true }
}
