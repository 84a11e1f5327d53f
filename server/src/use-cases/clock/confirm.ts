import type { CommandResult } from '../../ports/admin-command.js'
import type { StoreClock } from '../../ports/clock.js'

/** The operator confirms that the system clock is right although it jumped. */
export function confirmClock(clock: StoreClock): CommandResult {
  if (clock.jump() === null) return { refused: 'The server already follows the system clock.' }
  clock.confirm()
  return { done: true }
}
