import { heldData } from './held-data.js'

/** The arguments of one call. */
export interface HeldArguments {
  /** For what maps to the question: a copy of what is held; all else is undefined. */
  toMap(): unknown[]
  /** For the function itself: a copy of what is held, all else as it was given. */
  toRun(): unknown[]
}

/**
 * What holds the arguments of a call. Without `positions` it holds all of them, and all have to be data; else those at these
 * positions.
 *
 * @throws TypeError for anything but a list of positions
 */
export function argumentHolder(positions?: readonly number[]): (args: readonly unknown[]) => HeldArguments {
  if (positions !== undefined && !(Array.isArray(positions) && positions.every(isPosition)))
    throw new TypeError(
      'bind must be a list of positions, such as [0]: to bind a part of an argument, make it one of its own',
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
