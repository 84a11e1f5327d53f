import type { StoreClock } from '../../ports/clock.js'
import type { OrderAnswer } from '../../ports/operator-order.js'

/** The operator says that the system clock, which jumped, is right. */
export function confirmClock(clock: StoreClock): OrderAnswer {
  if (clock.jump() === null) return { refused: 'The clock of this server is not in doubt.' }
  clock.confirm()
  return { done: true }
}
