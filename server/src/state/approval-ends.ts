/**
 * When the next unclaimed approval expires. Its reservation is released then, so a budget that is asked later must show
 * that room. Covers the approvals that this process knows; the sweeper adds those of other processes.
 */
export class ApprovalEnds {
  /** For each refresh in progress, the first approval that was noted during it. */
  private readonly notedMeanwhile = new Set<{ first: string | null }>()

  constructor(private first: string | null) {}

  isDue(now: string): boolean {
    return this.first !== null && this.first <= now
  }

  /** Call this when a decision was approved, or may have been. */
  note(expiresAt: string): void {
    this.first = earlier(this.first, expiresAt)
    for (const noted of this.notedMeanwhile) noted.first = earlier(noted.first, expiresAt)
  }

  /** Reads the first expiry from the store. Keeps approvals that are noted during the read. */
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
