import { heldData } from './held-data.js'

/** The arguments of one call. */
export interface HeldArguments {
  /** For functions that map to the question: a copy of the held arguments; all others are undefined. */
  toMap(): unknown[]
  /** For the function itself: a copy of the held arguments; all others are unchanged. */
  toRun(): unknown[]
}

/**
 * Holds the arguments of a call at these positions. Without `positions`, it holds all of them, and all must be data.
 *
 * @throws TypeError for anything but a list of positions
 */
export function argumentHolder(positions?: readonly number[]): (args: readonly unknown[]) => HeldArguments {
  if (positions !== undefined && !(Array.isArray(positions) && positions.every(isPosition)))
    throw new TypeError(
      'bind must be a list of positions, such as [0]: to bind a part of an argument, make it a separate argument',
    )
  return (args) => {
    const isHeld = (position: number): boolean => positions?.includes(position) ?? true
    const given = [...args]
    const take = heldData(
      given.map((value, position) => (isHeld(position) ? value : undefined)),
      'arguments',
    )
    return {
      toMap: take,
      toRun: () => take().map((copy, position) => (isHeld(position) ? copy : given[position])),
    }
  }
}

function isPosition(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0
}
