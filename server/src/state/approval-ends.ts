/**
 * When the first approved decision ends that nobody has claimed: its reservation is given back then, so whoever asks a
 * budget after that moment has to see the room. Of what this process knows: the sweeper tells it of the others.
 */
export class ApprovalEnds {
  /** What is noted while somebody reads the store, for each who does. */
  private readonly notedMeanwhile = new Set<{ first: string | null }>()

  constructor(private first: string | null) {}

  isDue(now: string): boolean {
    return this.first !== null && this.first <= now
  }

  /** A decision was approved, or may have been. */
  note(expiresAt: string): void {
    this.first = earlier(this.first, expiresAt)
    for (const noted of this.notedMeanwhile) noted.first = earlier(noted.first, expiresAt)
  }

  /** Reads anew what the first is. An approval that is noted meanwhile counts too. */
  async refresh(read: () => Promise<string | null>): Promise<void> {
    const noted: { first: string | null } = { first: null }
    this.notedMeanwhile.add(noted)
    try {
      this.first = earlier(await read(), noted.first)
    } finally {
      this.notedMeanwhile.delete(noted)
    }
  }
}

function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other
  return one < other ? one : other
}
