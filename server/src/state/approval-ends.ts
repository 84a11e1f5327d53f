/**
 * When the first approved decision ends that nobody has claimed: its reservation is given back then, so whoever asks a
 * budget after that moment has to see the room. Of what this process knows: the sweeper tells it of the others.
 */
export class ApprovalEnds {
  constructor(private first: string | null) {}

  isDue(now: string): boolean {
    return this.first !== null && this.first <= now
  }

  /** A decision was approved, or may have been. */
  note(expiresAt: string): void {
    if (this.first === null || expiresAt < this.first) this.first = expiresAt
  }

  /** Reads anew what the first is. An approval that is noted meanwhile counts too. */
  async refresh(read: () => Promise<string | null>): Promise<void> {
    const before = this.first
    this.first = null
    try {
      const first = await read()
      if (first !== null) this.note(first)
    } catch (error) {
      if (before !== null) this.note(before)
      throw error
    }
  }
}
