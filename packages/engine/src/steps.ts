import { LIMITS } from '@countersign/contract'

/** So many comparisons take well under a millisecond. */
const STEPS_OF_A_PART = 1000
const READ_BITS = Math.log2(LIMITS.charactersPerStep)

/**
 * The work that an evaluation may still take, in steps. They are counted by what is looked at, never by time or by what an
 * index saved: the same input uses them up at the same place.
 *
 * Source: docs/concepts/policies.md "How much work a decision takes".
 */
export class Steps {
  private partEnd: number

  constructor(private left: number) {
    this.partEnd = left - STEPS_OF_A_PART
  }

  /** Whether more was taken than there was. */
  get isOver(): boolean {
    return this.left < 0
  }

  exhaust(): void {
    this.left = -1
  }

  take(steps: number): void {
    this.left -= steps
  }

  /** Whether so many were taken since it was last true that others should have a turn. */
  endsPart(): boolean {
    if (this.left > this.partEnd) return false
    this.partEnd = this.left - STEPS_OF_A_PART
    return true
  }

  /** Takes the steps of an operator that reads so many characters and items. */
  read(size: number): void {
    this.left -= stepsToRead(size)
  }
}

/** The steps of an operator that reads so many characters and items. */
export function stepsToRead(size: number): number {
  // A shift is what the loop over conditions has time for.
  return size >> READ_BITS
}
