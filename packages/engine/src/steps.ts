import { LIMITS } from '@countersign/contract'

const READ_BITS = Math.log2(LIMITS.charactersPerStep)

/**
 * The work that an evaluation may still take, in steps. They are counted by what is looked at, never by time or by what an
 * index saved: the same input uses them up at the same place.
 *
 * Source: docs/concepts/policies.md "How much work a decision takes".
 */
export class Steps {
  constructor(private left: number) {}

  /** Whether more was taken than there was. */
  get isOver(): boolean {
    return this.left < 0
  }

  take(steps: number): void {
    this.left -= steps
  }

  /** Takes the steps of an operator that reads so many characters and items. */
  read(size: number): void {
    // A shift is what the loop over conditions has time for.
    this.left -= size >> READ_BITS
  }
}
