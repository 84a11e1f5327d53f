/** A token bucket for each API key. In this process only. */
export class RateLimit {
  private readonly buckets = new Map<string, { tokens: number; at: number }>()

  /** @param perSecond tokens a second, and the size of the bucket; 0 switches the limit off. */
  constructor(private readonly perSecond: number) {}

  /** Takes a token; null, or the whole seconds (at least 1) after which there is one. */
  take(keyId: string, nowMs: number = performance.now()): number | null {
    if (this.perSecond === 0) return null
    const bucket = this.buckets.get(keyId) ?? { tokens: this.perSecond, at: nowMs }
    const tokens = Math.min(this.perSecond, bucket.tokens + ((nowMs - bucket.at) / 1000) * this.perSecond)
    const isEnough = tokens >= 1
    this.buckets.set(keyId, { tokens: isEnough ? tokens - 1 : tokens, at: nowMs })
    return isEnough ? null : Math.max(1, Math.ceil((1 - tokens) / this.perSecond))
  }
}
