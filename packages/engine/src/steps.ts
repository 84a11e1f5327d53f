import { LIMITS } from '@countersign/contract'

/** This many comparisons take well under a millisecond. */
const STEPS_OF_A_PART = 1000
const READ_BITS = Math.log2(LIMITS.charactersPerStep)

/**
 * The work that an evaluation may still do, in steps. Steps count what is read, never time or the savings of an index:
 * the same input uses them up at the same place.
 *
 * Source: docs/concepts/policies.md "How much work a decision takes".
 */
export class Steps {
  private partEnd: number

  constructor(private left: number) {
    this.partEnd = left - STEPS_OF_A_PART
  }

  /** Whether more steps were taken than available. */
  get isOver(): boolean {
    return this.left < 0
  }

  exhaust(): void {
    this.left = -1
  }

  take(steps: number): void {
    this.left -= steps
  }

  /** Whether enough steps were taken since it last returned true to let other work run. */
  endsPart(): boolean {
    if (this.left > this.partEnd) return false
    this.partEnd = this.left - STEPS_OF_A_PART
    return true
  }

  /** Takes the steps of an operator that reads this many characters and items. */
  read(size: number): void {
    this.left -= stepsToRead(size)
  }
}

/** Returns the steps of an operator that reads this many characters and items. */
export function stepsToRead(size: number): number {
  // A shift, because the loop over conditions has no time for more.
  return size >> READ_BITS
}
